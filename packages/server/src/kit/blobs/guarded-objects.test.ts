import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startS3 } from '../../../test/servers/s3.ts'
import { openFolderObjects } from './folder-objects.ts'
import { guardObjects } from './guarded-objects.ts'
import { ObjectMissing, StorageUnavailable } from './object-store.ts'
import { openS3Objects } from './s3/s3-objects.ts'
import { unrecorded } from './s3/s3-uploads.ts'

/** A folder whose check succeeds or fails as the test sets it. */
async function openChecked() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-guarded-'))
  const objects = openFolderObjects(folder)
  const checks = { isOurs: true, count: 0 }
  const guarded = guardObjects(objects, async () => {
    checks.count += 1
    if (!checks.isOurs) throw new Error('of another installation')
  })
  return {
    objects,
    guarded,
    checks,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

describe('a guarded store', () => {
  test('is used once its check has succeeded, and not before', async () => {
    await using opened = await openChecked()
    const { objects, guarded, checks } = opened
    await objects.put('aa/bb', Buffer.from('there'))
    checks.isOurs = false
    const calls = [
      () => guarded.put('aa/bb', Buffer.from('changed')),
      async () => (await guarded.create('aa/cc')).abort(),
      () => guarded.open('aa/bb'),
      () => guarded.remove('aa/bb'),
      () => guarded.list('').next(),
      () => guarded.sweepUploads(new AbortController().signal),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow('of another installation')
    // Not asked again for each call.
    expect(checks.count).toBe(1)
    expect(Buffer.concat(await Array.fromAsync((await objects.open('aa/bb')).content)).toString()).toBe(
      'there',
    )

    checks.isOurs = true
    vi.advanceTimersByTime(11_000)
    for (const call of calls) await call()
    expect(checks.count).toBe(2)
  })

  test('has lost an object only if it is still the right one', async () => {
    await using opened = await openChecked()
    const { guarded, checks } = opened
    await expect(guarded.open('aa/bb')).rejects.toThrow(ObjectMissing)
    checks.isOurs = false
    await expect(guarded.open('aa/bb')).rejects.toThrow('of another installation')
    checks.isOurs = true
    await expect(guarded.open('aa/bb')).rejects.toThrow(ObjectMissing)
  })

  test('is left alone for a while after it did not answer', async () => {
    await using s3 = await startS3()
    const objects = await openS3Objects(s3.settings, unrecorded)
    const guarded = guardObjects(objects, async () => {})
    await guarded.put('aa/bb', Buffer.from('there'))
    await s3.pause()
    await expect(guarded.open('aa/bb')).rejects.toThrow(StorageUnavailable)
    await s3.resume()
    const asked = s3.requests.length
    await expect(guarded.open('aa/bb')).rejects.toThrow(StorageUnavailable)
    await expect(guarded.put('aa/cc', Buffer.from('a'))).rejects.toThrow(StorageUnavailable)
    expect(s3.requests).toHaveLength(asked)
    vi.advanceTimersByTime(6_000)
    expect((await guarded.open('aa/bb')).bytes).toBe(5)
  })

  test('that never answers keeps only one call waiting, until a check succeeds', async () => {
    await using opened = await openChecked()
    const { objects, checks } = opened
    await objects.put('aa/bb', Buffer.from('there'))
    const silent = new StorageUnavailable('unreachable', 'There was no answer in time.')
    let answer: PromiseWithResolvers<void> | null = null
    const guarded = guardObjects(
      { ...objects, open: key => (answer ? Promise.reject(silent) : objects.open(key)) },
      () => {
        checks.count += 1
        return answer?.promise ?? Promise.resolve()
      },
    )
    await guarded.ensure()
    answer = Promise.withResolvers<void>()
    await expect(guarded.open('aa/bb')).rejects.toBe(silent)
    vi.advanceTimersByTime(6_000)
    const first = guarded.open('aa/bb')
    await expect(guarded.open('aa/bb')).rejects.toBe(silent)
    vi.advanceTimersByTime(20_000)
    await expect(guarded.put('aa/cc', Buffer.from('a'))).rejects.toBe(silent)
    expect(checks.count).toBe(2)
    const { resolve } = answer
    answer = null
    resolve()
    expect((await first).bytes).toBe(5)
    expect((await guarded.open('aa/bb')).bytes).toBe(5)
    expect(checks.count).toBe(2)
  })
})
