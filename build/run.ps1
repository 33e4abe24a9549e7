# build/run.ps1 [ARGUMENTS]: build Breakwater on Windows and start it with these
# arguments. Needs Go and git; a C compiler is needed for the windows and is
# installed by winget, after asking.
#
#   powershell -ExecutionPolicy Bypass -File build\run.ps1 --demo
#
# With CGO_ENABLED=0 in the environment the program is built without windows
# (start it with --headless) and no C compiler is needed.
$ErrorActionPreference = 'Stop'

function Stop-With([string]$Text) {
    [Console]::Error.WriteLine($Text)
    exit 1
}
function Test-Command([string]$Name) {
    $null -ne (Get-Command $Name -ErrorAction SilentlyContinue)
}

if (-not (Test-Command 'go')) {
    Stop-With 'Breakwater is built with Go, which is not installed: see https://go.dev/dl/'
}

if ($env:CGO_ENABLED -ne '0' -and -not (Test-Command 'gcc')) {
    Write-Host 'The windows are drawn with OpenGL, and their build needs a C compiler (gcc), which is missing.'
    if (-not (Test-Command 'winget')) {
        Stop-With 'Install MinGW-w64 (https://winlibs.com) and start this script again, or set CGO_ENABLED=0.'
    }
    $ask = -not ($env:CI -or $env:BREAKWATER_YES -or [Console]::IsInputRedirected)
    if ($ask -and (Read-Host 'Install WinLibs (MinGW-w64) with winget now? [Y/n]') -match '^[nN]') {
        Stop-With 'Nothing was installed. Without windows: set CGO_ENABLED=0 and start with --headless.'
    }
    winget install --exact --id BrechtSanders.WinLibs.POSIX.UCRT --accept-package-agreements --accept-source-agreements
    if ($LASTEXITCODE -ne 0) { Stop-With 'winget could not install the compiler.' }
    $env:Path = [Environment]::GetEnvironmentVariable('Path', 'Machine') + ';' +
        [Environment]::GetEnvironmentVariable('Path', 'User')
    if (-not (Test-Command 'gcc')) { Stop-With 'The compiler is installed; open a new terminal and start this script again.' }
}

$root = Split-Path -Parent $PSScriptRoot
$program = Join-Path $root 'breakwater.exe'
Push-Location $root
try {
    & go build -o $program .
    if ($LASTEXITCODE -ne 0) { Stop-With 'The build failed; the reason stands above.' }
} finally {
    Pop-Location
}
& $program @args
exit $LASTEXITCODE
