/** @module-tag postgres-16 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { findAccount } from '../../../accounts/store.ts'
import { blobKey } from '../../../kit/blobs/blob-key.ts'
import { openBlobStore } from '../../../kit/blobs/blob-store.ts'
import { openFolderObjects } from '../../../kit/blobs/folder-objects.ts'
import { newId } from '../../../kit/ids.ts'
import { silentLog } from '../../../kit/log.ts'
import type { OwnedBlobs } from '../../../wing/owned-blobs.ts'
import { beginBlob } from './record-blobs.ts'
import { listOwnBlobs, sweepOrphans } from './sweep-orphans.ts'

const HOUR = 3_600_000

async function openStore() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-orphans-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const objects = openFolderObjects(folder)
  const { id: tenantId } = await sampleTenant(db)
  const { id } = await sampleAccount(db, tenantId)
  const account = (await findAccount(db, tenantId, id))!
  const owned = opened.move()
  const put = async (blobId: string) => {
    const key = blobKey({ id: blobId, tenant_id: tenantId, account_id: id })
    await objects.put(key, Buffer.from('content'))
    return key
  }
  return {
    put,
    putOfMail: async () => put((await beginBlob(db, account, 7))!.id),
    async sweep(others: readonly OwnedBlobs[], hours = 49) {
      const ownedBlobs = [(ids: readonly string[]) => listOwnBlobs(db, ids), ...others]
      const clock = { now: () => Date.now() + hours * HOUR }
      const blobs = openBlobStore(objects)
      await sweepOrphans({ db, blobs, ownedBlobs, clock, log: silentLog }, new AbortController().signal)
    },
    async keys() {
      const pages = await Array.fromAsync(objects.list(''))
      return pages.flat().map(({ key }) => key)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('an old object is removed if no wing owns it, and is kept if any wing does', async () => {
  await using store = await openStore()
  const attachmentId = newId()
  const ofMail = await store.putOfMail()
  const ofCalendars = await store.put(attachmentId)
  const orphan = await store.put(newId())
  const calendars: OwnedBlobs = async ids => ids.filter(id => id === attachmentId)

  await store.sweep([calendars], 47)
  expect((await store.keys()).toSorted()).toEqual([ofMail, ofCalendars, orphan].toSorted())
  await store.sweep([calendars, async () => []])
  expect((await store.keys()).toSorted()).toEqual([ofMail, ofCalendars].toSorted())
})

test('nothing is removed if a wing cannot answer', async () => {
  await using store = await openStore()
  const orphan = await store.put(newId())
  await expect(store.sweep([() => Promise.reject(new Error('no answer'))])).rejects.toThrow('no answer')
  expect(await store.keys()).toEqual([orphan])
})
