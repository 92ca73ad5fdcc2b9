import type { ContactsStep, FollowFolder, ListedContact } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import { unlessExpired } from '../google/unless-expired.ts'
import { isDue, type PeopleCursor, readCursor } from './cursor.ts'
import type { Connections, PeopleApi } from './people-api.ts'
import { type NamedPerson, readNamed, versionOf } from './person.ts'
import { addPerson, READ_MAX, type ReadPeople, readPeople } from './reading.ts'

type Steps<T> = AsyncGenerator<ContactsStep, T, void>

/** Pages of one sync. */
const PAGES_MAX = 1_000
/** Contacts of one step. */
const STEP_MAX = 100

/**
 * The changes since a cursor. A sync shows changes only after minutes, so its rows may be older than what the index has
 * by then: a row leads to a question about the contact, and only the answer is recorded. The first sync takes the rows
 * themselves, since the index has nothing that they could undo.
 */
export async function* followPeople(
  api: PeopleApi,
  { cursor, known, signal }: Pick<FollowFolder, 'cursor' | 'known' | 'signal'>,
): Steps<void> {
  const from = readCursor(cursor)
  if (from?.syncToken && !isDue(from, api.now())) {
    if (yield* followToken(api, from, from.syncToken, signal)) return
  }
  const place = from?.pageToken && !isDue(from, api.now()) ? from : null
  if (place && (yield* readFirst(api, place, signal))) return
  const held = await known()
  if (held.size > 0) return yield* compare(api, held, signal)
  if (!(yield* readFirst(api, { fullAt: api.now(), syncToken: null, pageToken: null }, signal)))
    throw new ProviderFailure('unavailable', 'The People API does not take the page that it named.')
}

/** Whether anything may have changed since a cursor, by one call. */
export async function hasChanged(
  api: PeopleApi,
  from: PeopleCursor | null,
  signal: AbortSignal,
): Promise<boolean> {
  if (!from?.syncToken || isDue(from, api.now())) return true
  const page = await askPage(api, { syncToken: from.syncToken, pageToken: null }, signal)
  return page === null || page.connections.length > 0 || page.nextPageToken !== undefined
}

/** Keys and versions of all contacts. */
export async function* listVersions(
  api: PeopleApi,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedContact[], void, void> {
  let pageToken: string | null = null
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Connections = await api.listVersions(pageToken, signal)
    yield page.connections.map(requireNamed).flatMap(named => {
      const version = versionOf(named)
      return version === null ? [] : { key: named.resourceName, version }
    })
    if (page.nextPageToken === undefined) return
    pageToken = page.nextPageToken
  }
  throw endless()
}

/** Returns false if the token is not taken. */
async function* followToken(
  api: PeopleApi,
  from: PeopleCursor,
  syncToken: string,
  signal: AbortSignal,
): Steps<boolean> {
  let pageToken: string | null = null
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Connections | null = await askPage(api, { syncToken, pageToken }, signal)
    if (page === null) return false
    const rows = page.connections.map(requireNamed)
    const former = new Map(
      rows.map(({ resourceName, metadata }) => [resourceName, metadata.previousResourceNames ?? []]),
    )
    const names = rows.map(({ resourceName }) => resourceName)
    // Contacts of a merge come before those that are gone by it, so that these are recognised.
    yield* leave(yield* bring(api, names, { former, signal }))
    if (page.nextPageToken === undefined) {
      yield { type: 'end', cursor: { ...from, syncToken: page.nextSyncToken ?? syncToken } }
      return true
    }
    pageToken = page.nextPageToken
  }
  throw endless()
}

/** Reads everything for the first time, page by page. Returns false if the place is not taken any more. */
async function* readFirst(
  api: PeopleApi,
  { fullAt, pageToken: begun }: PeopleCursor,
  signal: AbortSignal,
): Steps<boolean> {
  let pageToken = begun
  let seen = 0
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Connections | null = await askPage(api, { syncToken: null, pageToken }, signal, 'background')
    if (page === null) return false
    const read: ReadPeople = { contacts: [], unreadable: [], absent: [] }
    for (const row of page.connections) addPerson(read, row, requireNamed(row).resourceName)
    seen += page.connections.length
    const { nextPageToken = null } = page
    const remaining = begun === null && page.totalItems ? Math.max(0, page.totalItems - seen) : null
    yield* stepsOf(read, {
      remaining,
      ...(nextPageToken !== null && { cursor: { fullAt, syncToken: null, pageToken: nextPageToken } }),
    })
    if (nextPageToken === null) {
      yield { type: 'end', cursor: endOf(page, fullAt) }
      return true
    }
    pageToken = nextPageToken
  }
  throw endless()
}

/**
 * Compares all versions with those of the index. Contacts that differ are asked for, and so are those that the listing lacks:
 * it may be older than a contact that was created a moment ago.
 */
async function* compare(
  api: PeopleApi,
  known: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Steps<void> {
  const fullAt = api.now()
  const listed = new Set<string>()
  let pageToken: string | null = null
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Connections = await api.sync({ syncToken: null, pageToken }, 'background', signal)
    const rows = page.connections.map(requireNamed)
    for (const { resourceName } of rows) listed.add(resourceName)
    const news = rows.filter(row => known.get(row.resourceName) !== versionOf(row))
    const names = news.map(({ resourceName }) => resourceName)
    yield* leave(yield* bring(api, names, { signal, known }))
    if (page.nextPageToken === undefined) {
      const unlisted = [...known.keys()].filter(key => !listed.has(key))
      yield* leave(yield* bring(api, unlisted, { signal, known }))
      return yield { type: 'end', cursor: endOf(page, fullAt) }
    }
    pageToken = page.nextPageToken
  }
  throw endless()
}

interface Bringing {
  signal: AbortSignal
  /** Names that contacts had before, by their present one. */
  former?: ReadonlyMap<string, readonly string[]>
  /** Versions of the index, of which no step is made. */
  known?: ReadonlyMap<string, string>
}

/** Asks for contacts and yields them as they are now. @returns keys that are gone */
async function* bring(
  api: PeopleApi,
  names: readonly string[],
  { signal, former, known }: Bringing,
): Steps<string[]> {
  const gone: string[] = []
  for (let at = 0; at < names.length; at += READ_MAX) {
    const read = await readPeople(api, names.slice(at, at + READ_MAX), { urgency: 'background', signal })
    const isNews = ({ key, version }: { key: string; version: string | null }) =>
      version === null || known?.get(key) !== version
    const contacts = read.contacts.filter(isNews).map(contact => {
      const formerKeys = [...new Set([...(contact.formerKeys ?? []), ...(former?.get(contact.key) ?? [])])]
      return formerKeys.length > 0 ? { ...contact, formerKeys } : contact
    })
    const remaining = Math.max(0, names.length - at - READ_MAX)
    yield* stepsOf({ ...read, contacts, unreadable: read.unreadable.filter(isNews) }, { remaining })
    gone.push(...read.absent.filter(key => !known || known.has(key)))
  }
  return gone
}

async function* leave(keys: readonly string[]): Steps<void> {
  if (keys.length > 0) yield { type: 'gone', keys }
}

/** @param last the cursor after the last of these steps; without one, following begins again at the former cursor */
function* stepsOf(
  { contacts, unreadable }: ReadPeople,
  { remaining, cursor }: { remaining: number | null; cursor?: PeopleCursor },
): Generator<ContactsStep, void, void> {
  const count = Math.max(1, Math.ceil(contacts.length / STEP_MAX))
  if (contacts.length + unreadable.length === 0 && !cursor) return
  for (let nth = 0; nth < count; nth += 1) {
    const isLast = nth === count - 1
    yield {
      type: 'contacts',
      contacts: contacts.slice(nth * STEP_MAX, (nth + 1) * STEP_MAX),
      unreadable: isLast ? unreadable : [],
      remaining,
      ...(isLast && cursor && { cursor }),
    }
  }
}

/** Without a token nothing leads on, so the next pass compares everything. */
function endOf({ nextSyncToken }: Connections, fullAt: number): PeopleCursor | null {
  return nextSyncToken === undefined ? null : { fullAt, syncToken: nextSyncToken, pageToken: null }
}

/** A page; null if a token of the place is not taken any more. */
async function askPage(
  api: PeopleApi,
  place: Parameters<PeopleApi['sync']>[0],
  signal: AbortSignal,
  urgency: 'prompt' | 'background' = 'prompt',
): Promise<Connections | null> {
  const hasToken = place.syncToken !== null || place.pageToken !== null
  return unlessExpired(hasToken, () => api.sync(place, urgency, signal))
}

/** A row without a name would be missing from the listing unnoticed. */
function requireNamed(row: unknown): NamedPerson {
  const named = readNamed(row)
  if (named) return named
  throw new ProviderFailure('unavailable', 'The People API lists a person without a name.')
}

function endless(): ProviderFailure {
  return new ProviderFailure('unavailable', `The People API lists more than ${PAGES_MAX} pages.`)
}
