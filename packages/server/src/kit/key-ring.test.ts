import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addKey, fileKeyRing, retireOldKeys } from './key-ring-file.ts'
import { KeyRingError, environmentKeyRing, keyIdOf } from './key-ring.ts'
import { SealError } from './seal.ts'

const context = ['tenant', 'account', 'data_key', 'row']
const plaintext = Buffer.from('data key')
const key = () => randomBytes(32).toString('base64')

describe('environmentKeyRing', () => {
  test('seals with the first key and opens with any', () => {
    const [old, current] = [key(), key()]
    const sealedBefore = environmentKeyRing(old).seal(plaintext, context)
    const ring = environmentKeyRing(`${current}, ${old}`)

    expect(ring.open(sealedBefore, context)).toEqual(plaintext)
    expect(keyIdOf(ring.seal(plaintext, context))).toBe(ring.currentId())
    expect(() => environmentKeyRing(current).open(sealedBefore, context)).toThrow(SealError)
    expect(() => ring.open(sealedBefore, [...context, ''])).toThrow(SealError)
  })

  test.each(['', 'short', 'x'.repeat(44), `${key()},`, key().slice(0, 40), `${key()}AAAA`])(
    'refuses %j without repeating it',
    text => {
      expect(() => environmentKeyRing(text)).toThrow(KeyRingError)
      expect(() => environmentKeyRing(text)).toThrow(/WAXWING_SECRET_KEY must hold 32 bytes in base64/)
    },
  )
})

describe('fileKeyRing', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'waxwing-key-ring-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('creates a file once that only its owner can read', () => {
    const first = fileKeyRing(join(folder, 'data'), { mayCreate: true })
    const sealed = first.seal(plaintext, context)

    expect(statSync(join(folder, 'data', 'secret.key')).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder, 'data'))).toEqual(['secret.key'])
    expect(fileKeyRing(join(folder, 'data'), { mayCreate: true }).open(sealed, context)).toEqual(plaintext)
  })

  test('refuses to create one for an external database, and says what to set', () => {
    expect(() => fileKeyRing(folder, { mayCreate: false })).toThrow(/WAXWING_SECRET_KEY/)
    expect(readdirSync(folder)).toEqual([])
  })

  test('follows a rotation by another process, and still opens values under a retired key', () => {
    const running = fileKeyRing(folder, { mayCreate: true })
    const before = running.seal(plaintext, context)
    const oldId = running.currentId()

    const newId = addKey(folder)
    const during = running.seal(plaintext, context)
    expect(keyIdOf(during)).toBe(newId)
    expect(running.ids()).toEqual([newId, oldId])

    expect(retireOldKeys(folder)).toEqual([oldId])
    expect(running.ids()).toEqual([newId])
    expect(running.open(before, context)).toEqual(plaintext)
    expect(running.open(during, context)).toEqual(plaintext)
    const started = fileKeyRing(folder, { mayCreate: true })
    expect(started.open(during, context)).toEqual(plaintext)
    expect(() => started.open(before, context)).toThrow(SealError)
  })

  test('reads a new key when a value names it, in a process that never sealed', () => {
    const running = fileKeyRing(folder, { mayCreate: true })
    addKey(folder)

    const sealed = fileKeyRing(folder, { mayCreate: false }).seal(plaintext, context)

    expect(running.open(sealed, context)).toEqual(plaintext)
  })

  test('keeps retired keys in a separate file, for older backups', () => {
    fileKeyRing(folder, { mayCreate: true })
    const old = readFileSync(join(folder, 'secret.key'), 'utf8').match(/^[^#\n]{44}$/m)?.[0]
    addKey(folder)
    retireOldKeys(folder)

    const path = join(folder, 'secret.key.retired')
    expect(readFileSync(path, 'utf8')).toContain(old)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('refuses a file without a key', () => {
    writeFileSync(join(folder, 'secret.key'), '# nothing\n')
    expect(() => fileKeyRing(folder, { mayCreate: true })).toThrow(/holds no key/)
  })
})
