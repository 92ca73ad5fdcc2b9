import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { useStoreKinds } from '../../../test/object-stores.ts'
import { ObjectMissing } from './object-store.ts'
import { PART_BYTES } from './s3/s3-uploads.ts'

const MEGABYTES_60 = 60 * 1024 * 1024
const { kinds } = useStoreKinds()

describe.each(kinds)('objects in $name', ({ open }) => {
  test.each([
    0,
    1,
    64 * 1024,
    64 * 1024 + 1,
    PART_BYTES - 1,
    PART_BYTES,
    PART_BYTES + 1,
    2 * PART_BYTES,
    MEGABYTES_60,
  ])('are written and read as they are: %i bytes', async size => {
    await using opened = await open()
    const { objects, bytesOf } = opened
    const content = randomBytes(size)
    const writer = await objects.create('aa/bb')
    for (let at = 0; at < size; at += 300_000) await writer.write(content.subarray(at, at + 300_000))
    await writer.commit()
    expect((await objects.open('aa/bb')).bytes).toBe(size)
    expect((await bytesOf('aa/bb')).equals(content)).toBe(true)

    if (size > 2 * PART_BYTES) return
    await objects.put('aa/cc', content)
    expect((await bytesOf('aa/cc')).equals(content)).toBe(true)
  })

  test('are replaced by a second write', async () => {
    await using opened = await open()
    const { objects, bytesOf, keys } = opened
    await objects.put('aa/bb', Buffer.from('a long first content'))
    await objects.put('aa/bb', Buffer.from('second'))
    expect((await bytesOf('aa/bb')).toString()).toBe('second')
    const writer = await objects.create('aa/bb')
    await writer.write(Buffer.from('third'))
    await writer.commit()
    expect((await bytesOf('aa/bb')).toString()).toBe('third')
    expect(await keys()).toEqual(['aa/bb'])
  })

  test('are missing before they are written and after they were removed', async () => {
    await using opened = await open()
    const { objects } = opened
    await expect(objects.open('aa/bb')).rejects.toThrow(ObjectMissing)
    await objects.put('aa/bb', Buffer.from('here'))
    await objects.remove('aa/bb')
    await objects.remove('aa/bb')
    await expect(objects.open('aa/bb')).rejects.toThrow(ObjectMissing)
  })

  test('are listed in order, behind any key', async () => {
    await using opened = await open()
    const { objects } = opened
    const written = ['aa/aa', 'aa/bb/01/x1', 'aa/bb/01/x2', 'aa/bb/02/x0', 'bb/aa', 'bb/ab/cd']
    for (const key of written.toReversed()) await objects.put(key, Buffer.from(key))
    const list = async (after: string) => (await Array.fromAsync(objects.list(after))).flat()
    for (const after of ['', 'a', ...written, 'aa/bb', 'aa/bb/01/x15', 'bb/zz', 'zz'])
      expect((await list(after)).map(({ key }) => key)).toEqual(written.filter(key => key > after))
    const [first] = await list('')
    expect(Math.abs(Date.now() - first!.modifiedAt.getTime())).toBeLessThan(120_000)
  })

  test('are listed in pages', async () => {
    await using opened = await open()
    const { objects } = opened
    const keys = Array.from({ length: 1005 }, (_, number) => `aa/${String(number).padStart(4, '0')}`)
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map(key => objects.put(key, Buffer.from(key))))
    const pages = await Array.fromAsync(objects.list(''))
    expect(pages.map(page => page.length)).toEqual([1000, 5])
    expect(pages.flat().map(({ key }) => key)).toEqual(keys)
  })
})
