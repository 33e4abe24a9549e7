package control

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"golang.org/x/crypto/scrypt"
)

// The cost of guessing a passphrase: about 0.1 s and 32 MiB a try.
const (
	scryptN = 1 << 15
	scryptR = 8
	scryptP = 1
	// minPassphrase keeps the sealed keys of a file that gets lost out of reach
	// of a simple guess.
	minPassphrase = 8
	maxPassphrase = 1024
)

// sealName is authenticated with the box, so that it is taken for nothing else.
const sealName = "breakwater-backup-1"

// SealedSecrets are keys encrypted with AES-256-GCM under a key that scrypt
// makes of a passphrase. Salt and box are in base64; the box begins with its
// nonce.
type SealedSecrets struct {
	KDF  string `json:"kdf"` // scrypt-32768-8-1
	Salt string `json:"salt"`
	Box  string `json:"box"`
}

// sealer seals at a cost, scrypt's N.
type sealer int

// backupSeal seals what leaves the program.
const backupSeal = sealer(scryptN)

func (n sealer) kdf() string { return fmt.Sprintf("scrypt-%d-%d-%d", n, scryptR, scryptP) }

func (n sealer) seal(keys map[string]string, passphrase string) (*SealedSecrets, error) {
	if len(passphrase) < minPassphrase || len(passphrase) > maxPassphrase {
		return nil, Invalid("passphrase", "%d to %d characters", minPassphrase, maxPassphrase)
	}
	plain, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("seal the keys: %w", err)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	box, err := n.box(passphrase, salt)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return &SealedSecrets{
		KDF: n.kdf(), Salt: base64.StdEncoding.EncodeToString(salt),
		Box: base64.StdEncoding.EncodeToString(box.Seal(nonce, nonce, plain, []byte(sealName))),
	}, nil
}

// open returns the sealed keys by the names of their connections.
// Without a passphrase they stay sealed, which is no error.
func (n sealer) open(s *SealedSecrets, passphrase string) (map[string]string, error) {
	if s == nil || passphrase == "" {
		return map[string]string{}, nil
	}
	if s.KDF != n.kdf() { // another cost could be chosen to stall us
		return nil, Invalid("backup.secrets.kdf", "this version reads %s", n.kdf())
	}
	salt, err := base64.StdEncoding.DecodeString(s.Salt)
	if err != nil || len(passphrase) > maxPassphrase {
		return nil, errSealed
	}
	sealed, err := base64.StdEncoding.DecodeString(s.Box)
	if err != nil {
		return nil, errSealed
	}
	box, err := n.box(passphrase, salt)
	if err != nil {
		return nil, err
	}
	if len(sealed) < box.NonceSize() {
		return nil, errSealed
	}
	plain, err := box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], []byte(sealName))
	var keys map[string]string
	if err != nil || json.Unmarshal(plain, &keys) != nil {
		return nil, errSealed
	}
	return keys, nil
}

var errSealed = Invalid("passphrase", "does not open the backup's secrets, or they are damaged")

func (n sealer) box(passphrase string, salt []byte) (cipher.AEAD, error) {
	key, err := scrypt.Key([]byte(passphrase), salt, int(n), scryptR, scryptP, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the backup's key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal the keys: %w", err)
	}
	return cipher.NewGCM(block)
}
