import { createHash } from 'node:crypto'
import { ProviderFailure } from '../failure.ts'
import { askTwice } from '../http/ask-twice.ts'
import { readRefusal } from '../http/answers.ts'
import { ask, askAll } from './ask.ts'
import type { DavClient } from './client.ts'
import { versionOf } from './etags.ts'
import { StatusFailure } from './failure.ts'
import type { FileThread } from './file-thread.ts'
import { urlOf } from './hrefs.ts'
import { propText } from './multistatus.ts'
import { D, multigetBody, propfindBody } from './names.ts'
import { inPieces } from './xml-stream.ts'

/* Reading files of collections: cards and calendar objects. */

/** A file of the server. */
export interface DavFile {
  path: string
  bytes: Buffer
  /** As the server wrote it; null if it has none. */
  etag: string | null
}

/** How the files of a home are read. */
export type FileReading = Pick<FileSource, 'home' | 'files'>

/** A kind of files, and how their content is read. */
export interface FileKind<T> {
  /** The media types that a GET accepts. */
  accept: string
  /** The name of the multiget REPORT. */
  multiget: string
  /** The property that has the content of a file. */
  data: string
  /** Reads the content of a file. Null: the file is nothing that is followed. */
  read(file: DavFile, source: FileReading): Promise<{ item: T | null } | { unreadable: string }>
}

/** A file that the server has, but that cannot be read. */
export interface UnreadableDavFile {
  key: string
  version: string | null
  reason: string
}

/** Outcomes of reading files. */
export interface ReadFiles<T> {
  items: T[]
  unreadable: UnreadableDavFile[]
  /** Paths of files that are gone, or nothing that is followed. */
  absent: string[]
}

/** The home of an account, where files are read. */
export interface FileSource {
  client: DavClient
  home: URL
  files: FileThread
}

/** Outcome of reading one file. */
type Found = { file: DavFile } | { unreadable: string; version: string | null } | 'absent'

/** The largest file that is read. */
export const FILE_BYTES_MAX = 5 * 1024 * 1024
/** Bytes of one answer with many files. If it is exceeded, fewer are asked for. */
const MULTIGET_BYTES_MAX = 32 * 1024 * 1024
/** Requests for single files that are sent again after a failure, before the others are asked for. */
const REPEATED_MAX = 10
const TOO_LARGE = `The file is larger than ${FILE_BYTES_MAX} bytes.`
/** Refusals of a multiget that single requests may avoid: servers without it, or with a limit. */
const WITHOUT_MULTIGET = new Set([400, 403, 404, 405, 413, 415, 501, 507])

/** Reads files of one collection. A file that cannot be read does not keep others from being read. */
export async function readFiles<T>(
  source: FileSource,
  kind: FileKind<T>,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadFiles<T>> {
  const result: ReadFiles<T> = { items: [], unreadable: [], absent: [] }
  if (paths.length === 0) return result
  const asked = { source, kind, signal }
  const outcomes = await askTwice<string, Found>(paths, {
    askAll: some => (some.length === 1 ? getEach(asked, some) : multiget(asked, some)),
    repeatedMax: REPEATED_MAX,
    requireAnswer: () => requireAnswer(source, paths[0] ?? '', signal),
  })
  for await (const [one] of inPieces(outcomes.entries(), 1)) {
    const [index, { value, failure }] = one!
    const key = paths[index] ?? ''
    if (failure) result.unreadable.push({ key, version: null, reason: failure.message })
    else if (value === 'absent') result.absent.push(key)
    else if ('unreadable' in value) {
      result.unreadable.push({ key, version: value.version, reason: value.unreadable })
    } else await addFile(result, kind, value.file, source)
  }
  return result
}

/** The version that the ETag names, or one of the content if there is no ETag. */
export function fileVersion({ bytes, etag }: Pick<DavFile, 'bytes' | 'etag'>): string {
  return versionOf(etag) ?? `sha256:${createHash('sha256').update(bytes).digest('base64url')}`
}

/** Reads one file as the server stores it. Throws `not_found`, or `rejected` if it is too large. */
export async function getFile(
  { client, home }: FileSource,
  { accept }: Pick<FileKind<unknown>, 'accept'>,
  path: string,
  signal?: AbortSignal,
): Promise<DavFile> {
  const request = {
    method: 'GET',
    url: urlOf(path, home),
    headers: { accept },
    answerBytesMax: 2 * FILE_BYTES_MAX,
    signal,
  } as const
  await using answer = await client.send(request)
  if (answer.status !== 200) {
    const { status, headers } = await readRefusal(answer)
    throw new StatusFailure(status, headers)
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer.content) {
    size += chunk.length
    if (size > FILE_BYTES_MAX) throw new ProviderFailure('rejected', TOO_LARGE)
    chunks.push(chunk)
  }
  const { etag } = answer.headers
  return { path, bytes: Buffer.concat(chunks), etag: typeof etag === 'string' ? etag : null }
}

async function addFile<T>(result: ReadFiles<T>, kind: FileKind<T>, file: DavFile, source: FileSource) {
  const read = await kind.read(file, source)
  if ('unreadable' in read)
    result.unreadable.push({ key: file.path, version: fileVersion(file), reason: read.unreadable })
  else if (read.item === null) result.absent.push(file.path)
  else result.items.push(read.item)
}

interface Asked {
  source: FileSource
  kind: Pick<FileKind<unknown>, 'accept' | 'multiget' | 'data'>
  signal: AbortSignal | undefined
}

type Outcomes = Awaited<ReturnType<Parameters<typeof askTwice<string, Found>>[1]['askAll']>>

async function multiget(asked: Asked, paths: readonly string[]): Promise<Outcomes> {
  const found = new Map<string, Found>()
  try {
    for await (const some of ask(asked.source.client, multigetOf(asked, paths))) {
      for (const told of some) {
        for (const path of told.paths) {
          if (told.status === 404 || told.status === 410) found.set(path, 'absent')
          const data = told.props.get(asked.kind.data)
          const etag = propText(told, D.getetag)
          if (data?.isCut) found.set(path, { unreadable: TOO_LARGE, version: versionOf(etag) })
          else if (data) found.set(path, { file: { path, bytes: Buffer.from(data.text), etag } })
        }
      }
    }
  } catch (error) {
    const isMissing = error instanceof StatusFailure && WITHOUT_MULTIGET.has(error.status)
    if (!isMissing) throw error
    return getEach(asked, paths)
  }
  // An answer that leaves out a file does not mean that it is gone.
  const silent = paths.filter(path => !found.has(path))
  const got = await getEach(asked, silent)
  const others = new Map(silent.map((path, index) => [path, got[index]!]))
  return paths.map(path => others.get(path) ?? { value: found.get(path) ?? 'absent', failure: null })
}

function multigetOf({ source: { home }, kind, signal }: Asked, paths: readonly string[]) {
  const [first = ''] = paths
  return {
    method: 'REPORT',
    url: urlOf(first.slice(0, first.lastIndexOf('/')), home, true),
    // RFC 6352 section 8.7 and RFC 4791 section 7.9 ignore it, and some servers want one.
    depth: '1',
    body: multigetBody(kind.multiget, kind.data, paths),
    answerBytesMax: MULTIGET_BYTES_MAX,
    signal,
  } as const
}

async function getEach(asked: Asked, paths: readonly string[]): Promise<Outcomes> {
  const outcomes: Outcomes = []
  for (const path of paths) outcomes.push(await getOne(asked, path))
  return outcomes
}

async function getOne({ source, kind, signal }: Asked, path: string): Promise<Outcomes[number]> {
  try {
    return { value: { file: await getFile(source, kind, path, signal) }, failure: null }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    if (error.kind === 'not_found') return { value: 'absent', failure: null }
    if (error.kind === 'rejected' || error.kind === 'forbidden') {
      const version = await findVersion(source, path, signal).catch(nullIfRefused)
      return { value: { unreadable: error.message, version }, failure: null }
    }
    if (error.kind === 'unavailable') return { value: null, failure: error }
    throw error
  }
}

function nullIfRefused(error: unknown): null {
  if (error instanceof ProviderFailure && (error.kind === 'rejected' || error.kind === 'forbidden'))
    return null
  throw error
}

/** The version of a file without its content; null if there is none. */
async function findVersion(
  { client, home }: FileSource,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const body = propfindBody([D.getetag])
  const question = { method: 'PROPFIND', url: urlOf(path, home), depth: '0', body, signal } as const
  const { told } = await askAll(client, question)
  const one = told.find(({ paths }) => paths.includes(path))
  return one ? versionOf(propText(one, D.getetag)) : null
}

/** Throws if the server answers nothing of this collection at all. */
async function requireAnswer({ client, home }: FileSource, path: string, signal: AbortSignal | undefined) {
  const url = urlOf(path.slice(0, path.lastIndexOf('/')), home, true)
  await askAll(client, { method: 'PROPFIND', url, depth: '0', body: propfindBody([D.resourcetype]), signal })
}
