import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { useStoreKinds } from '../../../test/object-stores.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { SealError } from '../seal.ts'
import { type BlobStore, isLost, openBlobStore } from './blob-store.ts'
import { ObjectMissing, StorageUnavailable, type StoredObject } from './object-store.ts'

const sealing = { key: createSecretKey(randomBytes(32)), context: ['tenant', 'message'] }
const { kinds } = useStoreKinds()

async function write(store: BlobStore, key: string, content: Buffer): Promise<number> {
  const writer = await store.create(key, sealing)
  for (let at = 0; at < content.length; at += 50_000) await writer.write(content.subarray(at, at + 50_000))
  return writer.commit()
}

const read = async (store: BlobStore, key: string, by = sealing) =>
  Buffer.concat(await Array.fromAsync(store.read(key, by)))

async function* watchEnd(content: StoredObject['content'], onEnd: () => void): StoredObject['content'] {
  try {
    yield* content
  } finally {
    onEnd()
  }
}

describe.each(kinds)('blobs in $name', ({ open }) => {
  async function openStore() {
    const opened = await open()
    return { ...opened, store: openBlobStore(opened.objects) }
  }

  test.each([0, 1, 65_535, 65_536, 65_537, 131_072, 1_000_000, 12_000_000])(
    'returns %i bytes unchanged',
    async size => {
      await using opened = await openStore()
      const { store, bytesOf } = opened
      const content = randomBytes(size)
      expect(await write(store, 'aa/bb', content)).toBe((await bytesOf('aa/bb')).length)
      expect((await read(store, 'aa/bb')).equals(content)).toBe(true)
      if (size > 1_000_000) return

      expect(await store.put('aa/cc', sealing, content)).toBe((await bytesOf('aa/cc')).length)
      expect((await read(store, 'aa/cc')).equals(content)).toBe(true)
    },
  )

  test('yields highly compressible content piece by piece', async () => {
    await using opened = await openStore()
    const content = Buffer.alloc(20_000_000, 'again ')
    expect(await write(opened.store, 'aa/aa', content)).toBeLessThan(64 * 1024)
    let length = 0
    for await (const piece of opened.store.read('aa/aa', sealing)) {
      expect(piece.length).toBeLessThanOrEqual(1024 * 1024)
      length += piece.length
    }
    expect(length).toBe(content.length)
  })

  test('compresses the content and reveals nothing of it', async () => {
    await using opened = await openStore()
    const bytes = await write(opened.store, 'aa/aa', Buffer.alloc(1_000_000, 'secret '))
    expect(bytes).toBeLessThan(10_000)
    expect((await opened.bytesOf('aa/aa')).includes('secret')).toBe(false)
  })

  test('refuses a small object that was changed or cut off', async () => {
    await using opened = await openStore()
    const { store, objects, bytesOf } = opened
    await store.put('aa/aa', sealing, randomBytes(5000))
    const sealed = await bytesOf('aa/aa')
    const changed = Buffer.from(sealed)
    changed[2000]! ^= 1
    for (const broken of [changed, ...[0, 10, 33, 40, 2000].map(end => sealed.subarray(0, end))]) {
      await objects.put('aa/bb', broken)
      await expect(read(store, 'aa/bb')).rejects.toThrow(SealError)
    }
    await expect(read(store, 'aa/aa', { ...sealing, context: ['tenant', 'other'] })).rejects.toThrow(
      SealError,
    )
  })

  test('refuses an object that was changed, cut off, reordered, or belongs to another message', async () => {
    await using opened = await openStore()
    const { store, objects, bytesOf } = opened
    await write(store, 'aa/aa', randomBytes(300_000))
    const sealed = await bytesOf('aa/aa')
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
      await objects.put('aa/bb', broken)
      await expect(read(store, 'aa/bb')).rejects.toThrow(SealError)
    }
    await expect(read(store, 'aa/aa', { ...sealing, context: ['tenant', 'other'] })).rejects.toThrow(
      SealError,
    )
    await expect(read(store, 'aa/aa', { ...sealing, key: createSecretKey(randomBytes(32)) })).rejects.toThrow(
      SealError,
    )
    await expect(read(store, 'aa/cc')).rejects.toThrow(ObjectMissing)
  })

  test('leaves nothing after an interrupted write, and lets a reader stop early', async () => {
    await using opened = await openStore()
    const { store, keys } = opened
    for (const bytes of [500_000, 12_000_000]) {
      const writer = await store.create('aa/aa', sealing)
      await writer.write(randomBytes(bytes))
      await writer.abort()
      expect(await keys()).toEqual([])
    }

    await write(store, 'aa/aa', randomBytes(5_000_000))
    for await (const _ of store.read('aa/aa', sealing)) break
    await store.remove('aa/aa')
    await store.remove('aa/aa')
    expect(await keys()).toEqual([])
  })

  test('closes an object whose reader stops early, or that was changed', async () => {
    await using opened = await openStore()
    const { objects, store, bytesOf } = opened
    await write(store, 'aa/aa', randomBytes(5_000_000))
    const changed = await bytesOf('aa/aa')
    changed[2_000_000]! ^= 1
    await objects.put('aa/bb', changed)
    let closed = 0
    const watched = openBlobStore({
      ...objects,
      async open(key) {
        const { bytes, content } = await objects.open(key)
        return { bytes, content: watchEnd(content, () => (closed += 1)) }
      },
    })

    for await (const _ of watched.read('aa/aa', sealing)) break
    await waitUntil('the object that was left to be closed', async () => closed === 1)
    await expect(read(watched, 'aa/bb')).rejects.toThrow(SealError)
    await waitUntil('the changed object to be closed', async () => closed === 2)
  })

  test('refuses a key that points elsewhere', async () => {
    await using opened = await openStore()
    await expect((async () => opened.store.remove('../aa'))()).rejects.toThrow('no key')
  })
})

test.each([
  ['is missing', new ObjectMissing('aa/bb'), true],
  ['does not open', new SealError('changed'), true],
  ['is no compressed content', Object.assign(new Error('bad'), { code: 'ZSTD_error_prefix_unknown' }), true],
  ['is in a store that fails', new StorageUnavailable('failing', 'a request failed: 500'), false],
  ['is in a folder of another user', Object.assign(new Error('no'), { code: 'EACCES' }), false],
  ['is on a broken disk', Object.assign(new Error('no'), { code: 'EIO' }), false],
])('an object that %s', (_, error, isGone) => {
  expect(isLost(error)).toBe(isGone)
})
