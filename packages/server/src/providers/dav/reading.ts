import { createHash } from 'node:crypto'
import type { RemoteContact, UnreadableContact } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import { askTwice } from '../http/ask-twice.ts'
import { readRefusal } from '../http/answers.ts'
import { ask, askAll } from './ask.ts'
import { readCard, UnreadableCard } from './card-files.ts'
import type { DavClient } from './client.ts'
import { versionOf } from './etags.ts'
import { StatusFailure } from './failure.ts'
import { urlOf } from './hrefs.ts'
import { propText } from './multistatus.ts'
import { CARD, D, multigetBody, propfindBody } from './names.ts'

/** A card as a file of the server. */
export interface CardFile {
  path: string
  bytes: Buffer
  /** As the server wrote it; null if it has none. */
  etag: string | null
}

/** Outcomes of reading cards. */
export interface ReadCards {
  contacts: RemoteContact[]
  unreadable: UnreadableContact[]
  /** Paths of cards that are gone, and of groups, which are no contacts. */
  absent: string[]
}

/** Where cards are read: the home of an account. */
export interface CardSource {
  client: DavClient
  home: URL
}

/** Outcome of reading one card. */
type Found = { file: CardFile } | { unreadable: string; version: string | null } | 'absent'

/** The largest card that is read. */
export const CARD_BYTES_MAX = 5 * 1024 * 1024
/** Bytes of one answer with many cards. If it is exceeded, fewer are asked for. */
const MULTIGET_BYTES_MAX = 32 * 1024 * 1024
/** Requests for single cards that are sent again after a failure, before the others are asked for. */
const REPEATED_MAX = 10
const TOO_LARGE = `The card is larger than ${CARD_BYTES_MAX} bytes.`
/** Refusals of a multiget that single requests may avoid: servers without it, or with a limit. */
const WITHOUT_MULTIGET = new Set([400, 403, 404, 405, 413, 415, 501, 507])

/** Reads cards of one address book. A card that cannot be read does not keep others from being read. */
export async function readCards(
  source: CardSource,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadCards> {
  const result: ReadCards = { contacts: [], unreadable: [], absent: [] }
  if (paths.length === 0) return result
  const outcomes = await askTwice<string, Found>(paths, {
    askAll: some => (some.length === 1 ? getEach(source, some, signal) : multiget(source, some, signal)),
    repeatedMax: REPEATED_MAX,
    requireAnswer: () => requireAnswer(source, paths[0] ?? '', signal),
  })
  for (const [index, { value, failure }] of outcomes.entries()) {
    const key = paths[index] ?? ''
    if (failure) result.unreadable.push({ key, version: null, reason: failure.message })
    else if (value === 'absent') result.absent.push(key)
    else if ('unreadable' in value) {
      result.unreadable.push({ key, version: value.version, reason: value.unreadable })
    } else addCard(result, value.file)
  }
  return result
}

/** A file as a contact; null if it is a group. Throws `UnreadableCard`. */
export function contactOf({ path, bytes, etag }: CardFile): RemoteContact | null {
  const { kind, uid, fields, photo, revisedAt } = readCard(bytes)
  if (kind === 'group') return null
  return {
    key: path,
    folderKey: path.slice(0, path.lastIndexOf('/')),
    version: fileVersion({ bytes, etag }),
    uid,
    fields,
    photo: photo.type === 'none' ? { type: 'none' } : { type: 'some', version: photo.version },
    updatedAt: revisedAt,
  }
}

/** The version that the ETag names, or one of the content if there is no ETag. */
function fileVersion({ bytes, etag }: Pick<CardFile, 'bytes' | 'etag'>): string {
  return versionOf(etag) ?? `sha256:${createHash('sha256').update(bytes).digest('base64url')}`
}

/** Reads one card as the server stores it. Throws `not_found`, or `rejected` if it is too large. */
export async function getCard(
  { client, home }: CardSource,
  path: string,
  signal?: AbortSignal,
): Promise<CardFile> {
  const request = {
    method: 'GET',
    url: urlOf(path, home),
    headers: { accept: 'text/vcard, text/x-vcard;q=0.9, */*;q=0.1' },
    answerBytesMax: 2 * CARD_BYTES_MAX,
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
    if (size > CARD_BYTES_MAX) throw new ProviderFailure('rejected', TOO_LARGE)
    chunks.push(chunk)
  }
  const { etag } = answer.headers
  return { path, bytes: Buffer.concat(chunks), etag: typeof etag === 'string' ? etag : null }
}

function addCard(result: ReadCards, file: CardFile): void {
  try {
    const contact = contactOf(file)
    if (contact) result.contacts.push(contact)
    else result.absent.push(file.path)
  } catch (error) {
    if (!(error instanceof UnreadableCard)) throw error
    result.unreadable.push({ key: file.path, version: fileVersion(file), reason: error.message })
  }
}

type Outcomes = Awaited<ReturnType<Parameters<typeof askTwice<string, Found>>[1]['askAll']>>

async function multiget(
  source: CardSource,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Outcomes> {
  const found = new Map<string, Found>()
  try {
    for await (const some of ask(source.client, multigetOf(source, paths, signal))) {
      for (const told of some) {
        for (const path of told.paths) {
          if (told.status === 404 || told.status === 410) found.set(path, 'absent')
          const data = told.props.get(CARD.data)
          const etag = propText(told, D.getetag)
          if (data?.isCut) found.set(path, { unreadable: TOO_LARGE, version: versionOf(etag) })
          else if (data) found.set(path, { file: { path, bytes: Buffer.from(data.text), etag } })
        }
      }
    }
  } catch (error) {
    const isMissing = error instanceof StatusFailure && WITHOUT_MULTIGET.has(error.status)
    if (!isMissing) throw error
    return getEach(source, paths, signal)
  }
  // Silence about a card says nothing about it.
  const silent = paths.filter(path => !found.has(path))
  const got = await getEach(source, silent, signal)
  const others = new Map(silent.map((path, index) => [path, got[index]!]))
  return paths.map(path => others.get(path) ?? { value: found.get(path) ?? 'absent', failure: null })
}

function multigetOf({ home }: CardSource, paths: readonly string[], signal: AbortSignal | undefined) {
  const [first = ''] = paths
  return {
    method: 'REPORT',
    url: urlOf(first.slice(0, first.lastIndexOf('/')), home, true),
    // RFC 6352 section 8.7 ignores it, and some servers want one.
    depth: '1',
    body: multigetBody(paths),
    answerBytesMax: MULTIGET_BYTES_MAX,
    signal,
  } as const
}

async function getEach(
  source: CardSource,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Outcomes> {
  const outcomes: Outcomes = []
  for (const path of paths) outcomes.push(await getOne(source, path, signal))
  return outcomes
}

async function getOne(
  source: CardSource,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Outcomes[number]> {
  try {
    return { value: { file: await getCard(source, path, signal) }, failure: null }
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

/** The version of a card without its content; null if there is none. */
async function findVersion(
  { client, home }: CardSource,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const body = propfindBody([D.getetag])
  const question = { method: 'PROPFIND', url: urlOf(path, home), depth: '0', body, signal } as const
  const { told } = await askAll(client, question)
  const one = told.find(({ paths }) => paths.includes(path))
  return one ? versionOf(propText(one, D.getetag)) : null
}

/** Throws if the server answers nothing of this book at all. */
async function requireAnswer({ client, home }: CardSource, path: string, signal: AbortSignal | undefined) {
  const url = urlOf(path.slice(0, path.lastIndexOf('/')), home, true)
  await askAll(client, { method: 'PROPFIND', url, depth: '0', body: propfindBody([D.resourcetype]), signal })
}
