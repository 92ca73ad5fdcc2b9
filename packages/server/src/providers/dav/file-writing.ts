import { ProviderFailure } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import { askAll } from './ask.ts'
import type { DavRequest } from './client.ts'
import { isStrong } from './etags.ts'
import { StatusFailure } from './failure.ts'
import type { DavFile, FileSource } from './files.ts'
import { isMember, pathOf, urlOf } from './hrefs.ts'
import { hasElement, propText } from './multistatus.ts'
import { D, propfindBody } from './names.ts'

/* Writing files of collections: cards and calendar objects. */

/** A change is applied again three times if another client was faster. */
const TRIES_MAX = 4

/** Repeats work that is refused because the file has changed, from reading it on. */
export async function overtaking<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isOvertaken(error) || tries === TRIES_MAX) throw error
    }
  }
}

export function isOvertaken(error: unknown): boolean {
  return error instanceof StatusFailure && error.status === 412
}

/** A condition needs a strong ETag (RFC 9110 section 13.1.1). Without one the file was read just before. */
export function unchangedSince(etag: string | null): Record<string, string> {
  return isStrong(etag) ? { 'if-match': etag.trim() } : {}
}

/** Returns the ETag of a file. A collection is never deleted: that would take all its files with it. */
export async function requireEtag({ client, home }: FileSource, path: string): Promise<string | null> {
  const body = propfindBody([D.getetag, D.resourcetype])
  const { told } = await askAll(client, { method: 'PROPFIND', url: urlOf(path, home), depth: '0', body })
  const file = told.find(({ paths, status }) => paths.includes(path) && status !== 404)
  if (!file) throw new ProviderFailure('not_found', 'The server no longer has this.')
  if (hasElement(file, D.resourcetype, D.collection))
    throw new ProviderFailure('rejected', 'This is a collection, and not a file.')
  return propText(file, D.getetag)
}

/** A file that was sent. Without a strong ETag it may be stored in another form (RFC 4791 section 5.3.4, RFC 6352 section 6.3.2.3). */
export interface Written {
  path: string
  bytes: Buffer
  etag: string | null
}

/** @param type the media type */
export async function putFile(
  source: FileSource,
  { path, bytes, type }: Pick<DavFile, 'path' | 'bytes'> & { type: string },
  condition: Record<string, string>,
): Promise<Written> {
  const headers = { 'content-type': type, ...condition }
  const answer = await requestAnswer(source, { method: 'PUT', path, headers, body: bytes })
  const { etag, location } = answer.headers
  const moved = typeof location === 'string' ? pathOf(location, answer.url) : null
  const isInCollection = moved !== null && isMember(moved, path.slice(0, path.lastIndexOf('/')))
  return {
    path: isInCollection ? moved : path,
    bytes,
    etag: typeof etag === 'string' ? etag : null,
  }
}

/** Deletes a file, whatever version it has by now. */
export function deleteFile(
  source: FileSource,
  path: string,
  { run, headers = {} }: { run(work: () => Promise<void>): Promise<void>; headers?: Record<string, string> },
): Promise<void> {
  return overtaking(async () => {
    const condition = unchangedSince(await requireEtag(source, path))
    await run(() => request(source, { method: 'DELETE', path, headers: { ...headers, ...condition } }))
  })
}

export interface Sent extends Pick<DavRequest, 'method' | 'headers' | 'body'> {
  path: string
  isCollection?: boolean
}

export async function request(source: FileSource, sent: Sent): Promise<void> {
  await requestAnswer(source, sent)
}

export async function requestAnswer({ client, home }: FileSource, { path, isCollection, ...sent }: Sent) {
  const opened = await client.send({ ...sent, url: urlOf(path, home, isCollection) })
  const { url } = opened
  const { status, headers } = await readRefusal(opened)
  if (status < 200 || status > 299) throw new StatusFailure(status, headers)
  return { url, headers }
}
