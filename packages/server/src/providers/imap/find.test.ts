import { describe, expect, test } from 'vitest'
import type { Faults } from '../../../test/servers/chaos-faults.ts'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import type { MessageKey } from '../mail.ts'
import type { SearchPage, SearchPosition, SearchProvider, SearchQuery } from '../search.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startDovecot())
const DAY_MS = 24 * 60 * 60_000
const BEGIN = Date.UTC(2020, 0, 1)

const message = (number: number, word: string) => ({
  raw: `From: a@b.test\r\nSubject: ${word} ${number}\r\n\r\n${number}\r\n`,
  internalDate: new Date(BEGIN + number * 60 * 60_000),
})

async function arrange(faults: Faults = {}) {
  await using opened = new AsyncDisposableStack()
  const user = await server().addUser()
  const world = opened.use(await openWorld(server(), user))
  const proxy = opened.use(await startChaosProxy(server(), faults))
  const account = opened.use(
    await imapAccount({
      endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
      login: { user: user.user, password: user.password },
      suspicions: new Suspicions(),
      signal: new AbortController().signal,
    }),
  )
  const owned = opened.move()
  return { world, proxy, account, mail: account.search, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function search(
  mail: SearchProvider,
  text: string,
  query: Partial<SearchQuery> = {},
  others: () => Promise<unknown> = () => Promise.resolve(),
) {
  const steps = mail.search({
    text,
    places: ['INBOX', 'Old'].map(source => ({
      id: source,
      source,
      mailboxKey: source,
      cursor: null,
      size: 3000,
    })),
    after: null,
    before: null,
    position: null,
    limit: 3,
    secondsWanted: 60,
    known: () => Promise.resolve(new Map<MessageKey, Date>()),
    ...query,
  })
  for (;;) {
    const step: IteratorResult<void, SearchPage> = await steps.next()
    if (step.done) return step.value
    await others()
  }
}

/** The subjects of page after page. */
async function pagesOf(mail: SearchProvider, query: Partial<SearchQuery>) {
  const pages: Array<Array<string | null | undefined>> = []
  let position: SearchPosition | null = null
  do {
    const page: SearchPage = await search(mail, 'common', { ...query, position })
    pages.push(subjects(page))
    position = page.next
  } while (position && pages.length < 100)
  return pages
}

/** Whether each SEARCH for a text covered all messages, or only those since a day. */
const searchedFor = (lines: readonly string[]) =>
  lines.filter(line => line.includes('TEXT')).map(line => (line.includes('SINCE') ? 'since' : 'ever'))

const subjects = (page: SearchPage) => page.hits.map(hit => hit.message?.subject)

describe('searching an IMAP server', () => {
  test('searches a limited number of messages at once, and only days that can have better ones', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    // Appended oldest last, so that neither UIDs nor sequence numbers show which is newest.
    const count = 2400
    await world.deliver(Array.from({ length: count }, (_, index) => message(count - index, 'common')))
    await world.createMailbox('Old')
    await world.deliver(
      Array.from({ length: 20 }, (_, index) => message(index, 'common')),
      'Old',
    )

    const page = await search(mail, 'common')
    expect(subjects(page)).toEqual(['common 2400', 'common 2399', 'common 2398'])
    const asked = proxy.stats.lines.filter(line => line.includes('TEXT'))
    expect(asked).toHaveLength(3)
    expect(asked[0]).toMatch(/1901:2400 TEXT "common"/)
    expect(asked[1]).toMatch(/1:1900 UID 1:1900 SINCE \S+-2020 TEXT/)
    expect(asked[2]).toMatch(/1:20 SINCE \S+-2020 TEXT/)

    // Others open another mailbox in between.
    const lookInOld = () => arranged.account.changing.find('Old', '<none@example.com>')
    const next = await search(mail, 'common', { position: page.next }, lookInOld)
    expect(subjects(next)).toEqual(['common 2397', 'common 2396', 'common 2395'])
    const day = new Date(BEGIN + 2398 * 60 * 60_000 + 2 * DAY_MS).getUTCDate()
    expect(proxy.stats.lines.findLast(line => line.includes(':2400 BEFORE'))).toContain(
      `2400 BEFORE ${day}-Apr-2020 TEXT`,
    )
  })

  test('searches a large account from the newest span on, and ends a page early rather than late', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    await world.createMailbox('Old')
    const yearsAgo = [-5, 0, 0.01, 0.5, 0.5, 3, 3, 30]
    const at = (years: number) => new Date(Math.floor(Date.now() / 1000 - years * 365 * 86_400) * 1000)
    const dated = (offset: number) =>
      yearsAgo.map((years, nth) => ({ ...message(nth + offset, 'common'), internalDate: at(years) }))
    await world.deliver(dated(10))
    await world.deliver(dated(20), 'Old')
    const sizes = (inbox: number | null, old: number | null) => [
      { id: 'b', source: 'INBOX', mailboxKey: 'INBOX', cursor: null, size: inbox },
      { id: 'a', source: 'Old', mailboxKey: 'Old', cursor: null, size: old },
    ]
    const all = subjects(await search(mail, 'common', { places: sizes(7, 7), limit: 20 }))
    expect(all).toHaveLength(16)
    expect(proxy.stats.commands.get('EXAMINE')).toBe(4)

    expect(subjects(await search(mail, 'common', { places: sizes(null, 7), limit: 20 }))).toEqual(all)
    const opened = () => proxy.stats.commands.get('EXAMINE') ?? 0
    const before = opened()
    const large = sizes(20_000, 20_000)
    expect(subjects(await search(mail, 'common', { places: large }))).toEqual(all.slice(0, 3))
    const after = at(0.4)
    expect(subjects(await search(mail, 'common', { places: large, after, limit: 20 }))).toEqual(
      all.slice(0, 6),
    )
    const before9999 = { places: large, before: new Date(Date.UTC(9999, 0)) }
    expect(subjects(await search(mail, 'common', before9999))).toEqual(all.slice(0, 3))
    // A span each, or two, and the reading of the results.
    expect(opened() - before).toBeLessThanOrEqual(14)

    // No time at all: a page is one span of two days, and may be empty.
    for (const places of [large, sizes(20_000, 7)]) {
      const pages = await pagesOf(mail, { places, secondsWanted: 0, after: at(0.2) })
      expect(pages.flat()).toEqual(all.slice(0, 6))
      expect(pages.some(page => page.length === 0)).toBe(true)
    }
  })

  test('searches a small account span by span if the server is slow', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    await world.createMailbox('Old')
    const now = Math.floor(Date.now() / 1000)
    const daysAgo = (days: number) => new Date((now - days * 86_400) * 1000)
    const dated = (offset: number) =>
      [-1, 0, 1, 1, 20, 40, 9000].map((days, nth) => ({
        ...message(nth + offset, 'common'),
        internalDate: daysAgo(days),
      }))
    await world.deliver(dated(10))
    await world.deliver(dated(20), 'Old')
    // So that there is something left to look at whenever time is up.
    const places = ['INBOX', 'Old'].map(source => ({
      id: source,
      source,
      mailboxKey: source,
      cursor: null,
      size: 9000,
    }))
    const all = subjects(await search(mail, 'common', { places, limit: 20 }))
    expect(all).toHaveLength(14)
    expect(searchedFor(proxy.stats.lines)).toEqual(['ever', 'ever'])

    proxy.faults = { latencyMs: 10 }
    const begunAt = proxy.stats.lines.length
    const page = await search(mail, 'common', { places, limit: 4, secondsWanted: 0.015 })
    // All that there is, until it takes too long; then the last 30 days of the mailbox that was not seen to its end.
    expect(searchedFor(proxy.stats.lines.slice(begunAt))).toEqual(['ever', 'since'])
    expect(subjects(page)).toEqual(all.slice(0, 4))
    expect(page.next).toMatchObject({ placeId: expect.stringMatching(/./) })

    const pages = await pagesOf(mail, { places, limit: 4, secondsWanted: 0.015, after: daysAgo(25) })
    expect(pages.flat()).toEqual(all.slice(0, 10))
    expect(pages.some(found => found.length < 4)).toBe(true)
    // Where a page ended for want of time, the next does not try all at once.
    const early = { receivedAt: new Date(), placeId: '', key: 0 }
    const before = proxy.stats.lines.length
    await search(mail, 'common', { places, position: early, secondsWanted: 0.015 })
    expect(searchedFor(proxy.stats.lines.slice(before))).not.toContain('ever')
  })

  test('uses the Date of messages for which the server reports no INTERNALDATE', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    const dates = [Date.UTC(2020, 2, 3), 0, Date.UTC(2021, 1, 1)].map(time => new Date(time))
    await world.deliver(
      dates.map((internalDate, nth) => {
        const date = nth === 1 ? '' : `Date: ${internalDate.toUTCString()}\r\n`
        return { raw: `${date}From: a@b.test\r\nSubject: common ${nth}\r\n\r\n${nth}\r\n`, internalDate }
      }),
    )
    proxy.faults = { rewrite: line => line.replace(/ INTERNALDATE "[^"]*"/, '') }
    const pages = await pagesOf(mail, {
      places: [{ id: 'a', source: 'INBOX', mailboxKey: 'INBOX', cursor: null, size: 3 }],
      limit: 1,
    })
    expect(pages).toEqual([['common 2'], ['common 0'], ['common 1']])
    const { hits } = await search(mail, 'common')
    expect(hits.map(({ receivedAt }) => receivedAt)).toEqual(
      hits.map(({ message: shown }) => shown?.receivedAt),
    )
  })

  test('reports why the server refuses a search', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    await world.deliver([message(1, 'grüß')])
    for (const [refusal, kind] of [
      ['NO [BADCHARSET (US-ASCII)] no', 'unsupported'],
      ['BAD Unknown argument', 'rejected'],
      ['NO [NOPERM] not you', 'forbidden'],
      ['NO [LIMIT] too many searches', 'throttled'],
      ['NO [UNAVAILABLE] later', 'unavailable'],
    ]) {
      proxy.faults = { refusedCommands: [/^UID SEARCH/], ...(refusal && { refusal }) }
      await expect(search(mail, 'grüß'), refusal).rejects.toMatchObject({ kind })
    }
    proxy.faults = { refusedCommands: [/^EXAMINE/], refusal: 'NO [NOPERM] not yours' }
    await expect(search(mail, 'x')).rejects.toMatchObject({ kind: 'forbidden' })
    proxy.faults = {}
    expect((await search(mail, 'grüß')).hits).toHaveLength(1)
    const asked = proxy.stats.lines.filter(line => line.includes('TEXT'))
    expect(asked.at(-1)).toMatch(/CHARSET UTF-8 1:1 TEXT \{6\+?\}$/)
  })

  test('sends one command per search, for any text', async () => {
    await using arranged = await arrange()
    const { world, proxy, mail } = arranged
    const [uid] = await world.deliver([message(1, 'kept')])
    const before = proxy.stats.lines.length
    const hostile = ['x" UID STORE 1 +FLAGS (\\Deleted) "', 'ü\\" {4+}', '" OR ALL "', '\\']
    for (const text of hostile) expect((await search(mail, text)).hits).toEqual([])
    for (const text of ['x\r\nA1 EXPUNGE', 'x\nA1 EXPUNGE', 'x\rA1', 'x\0y']) {
      await expect(search(mail, text)).rejects.toMatchObject({ kind: 'rejected' })
    }
    const names = proxy.stats.lines.slice(before).map(line => line.split(' ').slice(0, 2).join(' '))
    expect(new Set(names)).toEqual(new Set(['EXAMINE "INBOX"', 'EXAMINE "Old"', 'UID SEARCH']))
    expect(names.filter(name => name === 'UID SEARCH')).toHaveLength(hostile.length)
    expect(await world.uids('INBOX')).toEqual([uid])
  })
})
