import { describe, expect, test } from 'vitest'
import type { MessageKey } from '../mail.ts'
import type { SearchPage, SearchPlace, SearchPosition, SearchProvider, SearchQuery } from '../search.ts'
import { type Arrangement, letter, letters } from './arrangement.ts'
import { byKey, heldIn, openIndex } from './memory-index.ts'

const noon = (day: number) => new Date(Date.UTC(2024, 4, day, 12))

/** A letter with some content, received at noon on that day of May 2024. */
const saying = (words: string, day = 1, number = day) => ({
  raw: letter(number, 'Content-Type: text/plain; charset=utf-8\r\n').replace('Dear Bob', `Dear Bob ${words}`),
  internalDate: noon(day),
})

async function placesOf(arranged: Arrangement<'search'>, mailboxes: string[]): Promise<SearchPlace[]> {
  const indexes = await Promise.all(mailboxes.map(mailbox => arranged.index(mailbox)))
  return indexes.map(({ source, mailboxKey }, nth) => ({
    id: mailboxes[nth]!,
    source,
    mailboxKey,
    cursor: null,
    size: null,
  }))
}

/** Searches to the end of a page. */
async function search(
  provider: SearchProvider,
  text: string,
  places: SearchPlace[],
  query: Partial<SearchQuery> = {},
): Promise<SearchPage> {
  const known = () => Promise.resolve(new Map<MessageKey, Date>())
  const steps = provider.search({
    text,
    places,
    after: null,
    before: null,
    position: null,
    limit: 10,
    secondsWanted: 60,
    known,
    ...query,
  })
  for (;;) {
    const step = await steps.next()
    if (step.done) return step.value
  }
}

/** A message that a search is to find. */
interface Found {
  key: MessageKey
  placeId: string
  day: number
  subject: string
}

const subjects = ({ hits }: SearchPage) => hits.map(({ message }) => message?.subject)

/** Contract of every `SearchProvider`. `setUp` makes a new account for each test. */
export function describeSearch(name: string, setUp: () => Promise<Arrangement<'search'>>): void {
  describe(`${name}: search`, () => {
    test('finds words of headers and bodies in every mailbox, newest first, as arrivals are read', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      await arranged.world.deliver([saying('heliotrope', 3), saying('nothing', 9), saying('heliotrope', 5)])
      await arranged.world.deliver([saying('Heliotrope', 4)], 'Projects')
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['INBOX', 'Projects'])

      const page = await search(account.search, 'heliotrope', places)

      expect(page.next).toBeNull()
      expect(subjects(page)).toEqual(['Letter 5', 'Letter 4', 'Letter 3'])
      expect(page.hits.map(({ placeId }) => placeId)).toEqual(['INBOX', 'Projects', 'INBOX'])
      expect(page.hits.map(({ receivedAt }) => receivedAt)).toEqual([noon(5), noon(4), noon(3)])
      const index = await arranged.index('INBOX')
      expect(page.hits[0]?.message).toEqual(index.messages.get(page.hits[0]!.key))
      expect(subjects(await search(account.search, 'Letter 9', places))).toEqual(['Letter 9'])
      expect(subjects(await search(account.search, 'no such word', places))).toEqual([])
    })

    test('returns pages without gaps, also among messages of the same moment', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      const deliver = async (placeId: string, days: readonly number[], from: number): Promise<Found[]> => {
        const given = days.map((day, index) => saying('zinnia', day, from + index))
        const keys = await arranged.world.deliver(given, placeId)
        return keys.map((key, index) => ({
          key,
          placeId,
          day: days[index]!,
          subject: `Letter ${from + index}`,
        }))
      }
      const days = [7, 7, 7, 2, 7, 9]
      const inInbox = await deliver('INBOX', days, 1)
      const before = [...inInbox, ...(await deliver('Projects', days, 11))]
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['Projects', 'INBOX'])
      const isOneSource = places[0]!.source === places[1]!.source
      const newestFirst = (a: Found, b: Found) =>
        b.day - a.day || (isOneSource ? 0 : byKey(a.placeId, b.placeId)) || byKey(b.key, a.key)

      const pages: SearchPage[] = []
      const added: Found[] = []
      const [gone1, gone2] = [inInbox[0]!, inInbox[3]!]
      let position: SearchPosition | null = null
      do {
        const page: SearchPage = await search(account.search, 'zinnia', places, { position, limit: 3 })
        pages.push(page)
        position = page.next && {
          ...page.next,
          receivedAt: new Date(page.next.receivedAt.toISOString()),
        }
        if (pages.length === 2) {
          // Messages that come and go between two pages do not shift others.
          added.push(...(await deliver('INBOX', [8], 20)), ...(await deliver('INBOX', [1], 30)))
          await arranged.world.expunge('INBOX', [gone1.key, gone2.key])
        }
      } while (position && pages.length < 10)

      const shown = before.toSorted(newestFirst).slice(0, 6)
      const left = [...before, ...added].filter(one => one !== gone1 && one !== gone2)
      const rest = left.filter(one => newestFirst(shown.at(-1)!, one) < 0).toSorted(newestFirst)
      expect(pages.flatMap(subjects)).toEqual([...shown, ...rest].map(({ subject }) => subject))
      expect(pages.slice(0, -1).map(({ hits }) => hits.length)).toEqual(pages.slice(1).map(() => 3))
    })

    test('respects exact times, although providers search by days', async () => {
      await using arranged = await setUp()
      const at = (hour: number) => new Date(Date.UTC(2024, 4, 10, hour))
      await arranged.world.deliver(
        [0, 6, 12, 18].map(hour => ({ ...saying('phlox', 1, hour), internalDate: at(hour) })),
      )
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['INBOX'])
      const between = async (after: Date | null, before: Date | null) =>
        subjects(await search(account.search, 'phlox', places, { after, before }))

      expect(await between(at(6), at(18))).toEqual(['Letter 12', 'Letter 6'])
      expect(await between(new Date(at(6).getTime() + 1), null)).toEqual(['Letter 18', 'Letter 12'])
      expect(await between(null, at(6))).toEqual(['Letter 0'])
      expect(await between(at(24), null)).toEqual([])
      const [begin, end] = [new Date('0000-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')]
      expect(await between(begin, end)).toHaveLength(4)
      expect(await between(end, null)).toEqual([])
    })

    test('fetches no messages that the index has', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      const keys = await arranged.world.deliver(
        [1, 2, 3].map(day => saying('aster', day)),
        'Projects',
      )
      await using account = await arranged.connect()
      const { source, cursor, mailboxKey } = await arranged.index('Projects')
      const followed = [{ id: 'Projects', source, mailboxKey, cursor, size: null }]
      const known = () => Promise.resolve(new Map<MessageKey, Date>([[keys[0]!, noon(20)]]))

      const page = await search(account.search, 'aster', followed, { known })
      expect(subjects(page)).toEqual([undefined, 'Letter 3', 'Letter 2'])
      expect(page.hits[0]).toEqual({
        placeId: 'Projects',
        key: keys[0],
        receivedAt: noon(20),
        message: null,
      })
    })

    test('skips mailboxes that are gone and messages that cannot be read', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Gone')
      const keys = await arranged.world.deliver([1, 2, 3].map(day => saying('iris', day)))
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['Gone', 'INBOX'])
      await arranged.world.deleteMailbox('Gone')
      await arranged.poison([keys[1]!], 'refuse')

      const found: unknown[] = []
      let position: SearchPosition | null = null
      do {
        const page: SearchPage = await search(account.search, 'iris', places, { limit: 2, position })
        found.push(...subjects(page))
        position = page.next
      } while (position)
      expect(found).toEqual(['Letter 3', 'Letter 1'])
      expect(subjects(await search(account.search, 'iris', places.slice(0, 1)))).toEqual([])
    })

    test('lets others use the connection between its steps', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      await arranged.world.deliver(letters(2), 'Projects')
      await arranged.world.deliver(letters(2, 10))
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['INBOX', 'Projects'])
      const { source, mailboxKey } = await arranged.index('INBOX')
      const other = openIndex(source)
      const known = () => Promise.resolve(new Map<MessageKey, Date>())
      const query = {
        text: 'Letter',
        places,
        after: null,
        before: null,
        position: null,
        limit: 9,
        secondsWanted: 60,
        known,
      }
      const steps = account.search.search(query)
      let turns = 0
      for (;;) {
        const step = await steps.next()
        if (step.done) {
          expect(subjects(step.value).toSorted()).toEqual(['Letter 1', 'Letter 10', 'Letter 11', 'Letter 2'])
          break
        }
        turns++
        if (account.mail) await other.follow(account.mail)
      }
      expect(turns).toBeGreaterThan(1)
      expect(heldIn(other, mailboxKey)).toHaveLength(account.mail ? 2 : 0)
    })
  })
}

/** Contract of every `SearchProvider` of folders, which searches for a text as it is. */
export function describeFolderSearch(name: string, setUp: () => Promise<Arrangement<'search'>>): void {
  describe(`${name}: search of folders`, () => {
    test('searches for the text as it is, with any characters', async () => {
      await using arranged = await setUp()
      const texts = ['Grüße aus Köln', '日本語の手紙', 'say "hello"', 'a\\b', '{3}', '(OR ALL)', '100% *', '']
      await arranged.world.deliver(texts.map((text, index) => saying(`<${text}>`, index + 1)))
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['INBOX'])

      for (const [index, text] of texts.slice(0, -1).entries()) {
        expect(subjects(await search(account.search, text, places)), text).toEqual([`Letter ${index + 1}`])
      }
      for (const text of ['a\r\nb', 'Letter\n', 'Letter\u0000']) {
        await expect(search(account.search, text, places)).rejects.toMatchObject({ kind: 'rejected' })
      }
      expect(subjects(await search(account.search, 'Letter 1', places))).toEqual(['Letter 1'])
    })

    test('finds nothing in folders outside the query', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      await arranged.world.createMailbox('Unasked')
      for (const [nth, folder] of ['INBOX', 'Projects', 'Unasked'].entries())
        await arranged.world.deliver([saying('heliotrope', nth + 1)], folder)
      await using account = await arranged.connect()
      const places = await placesOf(arranged, ['INBOX', 'Projects'])
      const found = subjects(await search(account.search, 'heliotrope', places))
      expect(found).toEqual(['Letter 2', 'Letter 1'])
    })

    test('fetches messages that the index has of a folder that was renumbered', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      const [key] = await arranged.world.deliver([saying('aster', 1)], 'Projects')
      const { source, cursor, mailboxKey } = await arranged.index('Projects')
      const followed = [{ id: 'Projects', source, mailboxKey, cursor, size: null }]
      const known = () => Promise.resolve(new Map<MessageKey, Date>([[key!, noon(20)]]))
      await arranged.world.renumber('Projects')
      await using later = await arranged.connect()
      expect(subjects(await search(later.search, 'aster', followed, { known }))).toEqual(['Letter 1'])
    })
  })
}
