import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openFolderObjects } from '../src/kit/blobs/folder-objects.ts'
import type { ObjectStore } from '../src/kit/blobs/object-store.ts'
import { openS3Objects } from '../src/kit/blobs/s3/s3-objects.ts'
import { unrecorded } from '../src/kit/blobs/s3/s3-uploads.ts'
import { type S3Server, startS3 } from './servers/s3.ts'

export interface OpenObjects extends AsyncDisposable {
  objects: ObjectStore
  /** The whole content of an object, as it is stored. */
  bytesOf(key: string): Promise<Buffer>
  /** The keys of all objects. */
  keys(): Promise<string[]>
}

export interface StoreKind {
  name: string
  open(): Promise<OpenObjects>
}

/** A folder and a bucket. The tests of a file share one server. */
export function useStoreKinds(): { kinds: StoreKind[]; s3: () => S3Server } {
  let server: S3Server
  beforeAll(async () => void (server = await startS3()))
  afterAll(() => server[Symbol.asyncDispose]())
  const kinds = [
    { name: 'a folder', open: openFolder },
    { name: 'a bucket', open: () => openPrefix(server) },
  ]
  return { kinds, s3: () => server }
}

async function openFolder(): Promise<OpenObjects> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-objects-'))
  return withViews(openFolderObjects(folder), () => rm(folder, { recursive: true, force: true }))
}

async function openPrefix({ settings }: S3Server): Promise<OpenObjects> {
  const objects = await openS3Objects({ ...settings, prefix: randomUUID() }, unrecorded)
  return withViews(objects, async () => {})
}

function withViews(objects: ObjectStore, dispose: () => Promise<void>): OpenObjects {
  return {
    objects,
    bytesOf: async key => Buffer.concat(await Array.fromAsync((await objects.open(key)).content)),
    keys: async () => (await Array.fromAsync(objects.list(''))).flat().map(({ key }) => key),
    [Symbol.asyncDispose]: dispose,
  }
}
