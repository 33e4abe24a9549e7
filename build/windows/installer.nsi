; The setup program: for the user who runs it, without administrator rights.
;   breakwater-...-setup.exe /S      without questions
;   ... /S /ALLOWDOWNGRADE           also over a newer version
Target amd64-unicode
Unicode true
SetCompressor /SOLID lzma
SetDateSave on
ManifestDPIAware true
RequestExecutionLevel user
!include LogicLib.nsh
!include FileFunc.nsh
!include WordFunc.nsh
!include MUI2.nsh

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\@ID@"

Name "@NAME@"
OutFile "breakwater-setup.exe"
InstallDir "$LOCALAPPDATA\Programs\@NAME@"
BrandingText "@NAME@ @VERSION@"
VIProductVersion "@QUAD@"
VIAddVersionKey ProductName "@NAME@"
VIAddVersionKey FileDescription "@NAME@ setup"
VIAddVersionKey FileVersion "@VERSION@"
VIAddVersionKey ProductVersion "@VERSION@"
VIAddVersionKey LegalCopyright "The Breakwater authors, MIT licence"

!define MUI_ICON "app.ico"
!define MUI_UNICON "app.ico"
!define MUI_FINISHPAGE_RUN "$INSTDIR\breakwater-tray.exe"
!insertmacro MUI_PAGE_LICENSE "LICENSE.txt"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "Spanish"

LangString NEWER ${LANG_ENGLISH} "@NAME@ $0 is installed, which is newer than @VERSION@. The older version may refuse its data, so nothing was changed. Start this setup with /ALLOWDOWNGRADE to go back all the same."
LangString NEWER ${LANG_SPANISH} "Está instalado @NAME@ $0, más nuevo que @VERSION@. La versión antigua puede rechazar sus datos, así que no se ha cambiado nada. Inicia este instalador con /ALLOWDOWNGRADE para volver atrás de todos modos."
LangString DELETE ${LANG_ENGLISH} "Delete connections, keys, settings and activity too? They lie in $LOCALAPPDATA\@NAME@."
LangString DELETE ${LANG_SPANISH} "¿Borrar también las conexiones, las claves, los ajustes y la actividad? Están en $LOCALAPPDATA\@NAME@."

Function .onInit
  ReadRegStr $0 HKCU "${UNINSTALL}" DisplayVersion
  ReadRegStr $1 HKCU "${UNINSTALL}" InstallLocation
  ${If} $1 != ""
    StrCpy $INSTDIR $1
  ${EndIf}
  ${If} $0 != ""
    ReadRegStr $3 HKCU "${UNINSTALL}" VersionQuad
    ${VersionCompare} "$3" "@QUAD@" $2
    ${GetParameters} $4
    ClearErrors
    ${GetOptions} $4 "/ALLOWDOWNGRADE" $5
    ${If} ${Errors}
    ${AndIf} $2 == 1
      MessageBox MB_OK|MB_ICONSTOP "$(NEWER)" /SD IDOK
      SetErrorLevel 3
      Quit
    ${EndIf}
  ${EndIf}
FunctionEnd

Section
  ; A running one holds its files.
  ${If} ${FileExists} "$INSTDIR\breakwater.exe"
    nsExec::Exec '"$INSTDIR\breakwater.exe" quit'
    Pop $0
    nsExec::Exec '"$INSTDIR\breakwater.exe" quit --demo'
    Pop $0
  ${EndIf}
  SetOutPath "$INSTDIR"
  File breakwater-tray.exe
  File breakwater.exe
  File README.txt
  File LICENSE.txt
  File licences.txt
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\@NAME@.lnk" "$INSTDIR\breakwater-tray.exe"
  WriteRegStr HKCU "${UNINSTALL}" DisplayName "@NAME@"
  WriteRegStr HKCU "${UNINSTALL}" DisplayVersion "@VERSION@"
  WriteRegStr HKCU "${UNINSTALL}" VersionQuad "@QUAD@"
  WriteRegStr HKCU "${UNINSTALL}" DisplayIcon "$INSTDIR\breakwater-tray.exe"
  WriteRegStr HKCU "${UNINSTALL}" Publisher "The Breakwater authors"
  WriteRegStr HKCU "${UNINSTALL}" InstallLocation "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" UninstallString '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" QuietUninstallString '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" EstimatedSize @KILOBYTES@
  WriteRegDWORD HKCU "${UNINSTALL}" NoModify 1
  WriteRegDWORD HKCU "${UNINSTALL}" NoRepair 1
SectionEnd

Section Uninstall
  ; Ends it, takes back the start at login and the settings of clients.
  StrCpy $1 keep
  MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 "$(DELETE)" /SD IDNO IDNO kept
  StrCpy $1 delete
kept:
  nsExec::Exec '"$INSTDIR\breakwater.exe" cleanup --data $1'
  Pop $0
  Delete "$SMPROGRAMS\@NAME@.lnk"
  Delete "$INSTDIR\breakwater-tray.exe"
  Delete "$INSTDIR\breakwater.exe"
  Delete "$INSTDIR\README.txt"
  Delete "$INSTDIR\LICENSE.txt"
  Delete "$INSTDIR\licences.txt"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
