import { createSecretKey, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { SealError } from '../seal.ts'
import { openBlobStore } from './blob-store.ts'

const sealing = { key: createSecretKey(randomBytes(32)), context: ['tenant', 'message'] }

async function openFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  return {
    store: openBlobStore(folder),
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

type Store = ReturnType<typeof openBlobStore>

async function write(store: Store, key: string, content: Buffer): Promise<number> {
  const writer = await store.create(key, sealing)
  for (let at = 0; at < content.length; at += 50_000) await writer.write(content.subarray(at, at + 50_000))
  return writer.commit()
}

const read = (store: Store, key: string, by = sealing) => collect(store.read(key, by))

async function collect(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}

describe('a blob store', () => {
  test.each([0, 1, 65_535, 65_536, 65_537, 131_072, 1_000_000])('returns %i bytes unchanged', async size => {
    await using opened = await openFolder()
    const content = randomBytes(size)
    const bytes = await write(opened.store, 'aa/bb', content)
    expect(bytes).toBe((await readFile(path.join(opened.folder, 'aa/bb'))).length)
    expect((await read(opened.store, 'aa/bb')).equals(content)).toBe(true)

    const put = await opened.store.put('aa/cc', sealing, content)
    expect(put).toBe((await readFile(path.join(opened.folder, 'aa/cc'))).length)
    expect((await read(opened.store, 'aa/cc')).equals(content)).toBe(true)
  })

  test('yields highly compressible content piece by piece', async () => {
    await using opened = await openFolder()
    const content = Buffer.alloc(20_000_000, 'again ')
    expect(await write(opened.store, 'aa', content)).toBeLessThan(64 * 1024)
    let length = 0
    for await (const piece of opened.store.read('aa', sealing)) {
      expect(piece.length).toBeLessThanOrEqual(1024 * 1024)
      length += piece.length
    }
    expect(length).toBe(content.length)
  })

  test('compresses the content and reveals nothing of it', async () => {
    await using opened = await openFolder()
    const bytes = await write(opened.store, 'aa', Buffer.alloc(1_000_000, 'secret '))
    expect(bytes).toBeLessThan(10_000)
    expect((await readFile(path.join(opened.folder, 'aa'))).includes('secret')).toBe(false)
  })

  test('refuses a small file that was changed or cut off', async () => {
    await using opened = await openFolder()
    const { store, folder } = opened
    await store.put('aa', sealing, randomBytes(5000))
    const sealed = await readFile(path.join(folder, 'aa'))
    const changed = Buffer.from(sealed)
    changed[2000]! ^= 1
    for (const broken of [changed, ...[0, 10, 33, 40, 2000].map(end => sealed.subarray(0, end))]) {
      await writeFile(path.join(folder, 'bb'), broken)
      await expect(read(store, 'bb')).rejects.toThrow(SealError)
    }
    await expect(read(store, 'aa', { ...sealing, context: ['tenant', 'other'] })).rejects.toThrow(SealError)
  })

  test('refuses a file that was changed, cut off, reordered, or belongs to another message', async () => {
    await using opened = await openFolder()
    const { store, folder } = opened
    await write(store, 'aa', randomBytes(300_000))
    const sealed = await readFile(path.join(folder, 'aa'))
    const frame = 65_536 + 16
    const swapped = Buffer.concat([
      sealed.subarray(0, 33),
      sealed.subarray(33 + frame, 33 + 2 * frame),
      sealed.subarray(33, 33 + frame),
      sealed.subarray(33 + 2 * frame),
    ])
    const changed = Buffer.from(sealed)
    changed[200_000]! ^= 1
    const cuts = [0, 10, 33, 40, 33 + frame, 33 + 2 * frame, sealed.length - 1].map(end =>
      sealed.subarray(0, end),
    )
    for (const broken of [swapped, changed, ...cuts]) {
      await writeFile(path.join(folder, 'bb'), broken)
      await expect(read(store, 'bb')).rejects.toThrow(SealError)
    }
    await expect(read(store, 'aa', { ...sealing, context: ['tenant', 'other'] })).rejects.toThrow(SealError)
    await expect(read(store, 'aa', { ...sealing, key: createSecretKey(randomBytes(32)) })).rejects.toThrow(
      SealError,
    )
    await expect(read(store, 'cc')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('leaves no file after an interrupted write, and lets a reader stop early', async () => {
    await using opened = await openFolder()
    const writer = await opened.store.create('aa', sealing)
    await writer.write(randomBytes(500_000))
    await writer.abort()
    expect(await readdir(opened.folder)).toEqual([])

    await write(opened.store, 'aa', randomBytes(5_000_000))
    for await (const _ of opened.store.read('aa', sealing)) break
    await opened.store.remove('aa')
    await opened.store.remove('aa')
    expect(await readdir(opened.folder)).toEqual([])
  })

  test('refuses a key that points outside its folder', async () => {
    await using opened = await openFolder()
    await expect((async () => opened.store.remove('../aa'))()).rejects.toThrow('no key')
  })
})
