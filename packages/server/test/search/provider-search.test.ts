import { describe, expect, test } from 'vitest'
import { readMailboxes, readMessages } from '../sync/followed-account.ts'
import { startCyrus } from '../servers/cyrus.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { openSearchedAccount, saying, subjectsOf } from './found-mail.ts'
import { casesFor } from '../soak.ts'

const SERVERS = [
  { name: 'Dovecot', start: () => startDovecot() },
  { name: 'a poor Dovecot', start: () => startDovecot({ flavour: 'poor' }) },
  { name: 'Cyrus', start: () => startCyrus() },
]

describe.each(casesFor(SERVERS, ({ name }) => name === 'Cyrus'))(
  'GET /v1/accounts/{accountId}/search/messages?source=provider on $name',
  ({ start }) => {
    test('finds messages in and outside the index, in every mailbox except junk and trash', async () => {
      await using account = await openSearchedAccount({
        start,
        async arrange(world) {
          await world.createMailbox(world.at('Projects'))
          // Most servers have these mailboxes.
          for (const name of ['Trash', 'Junk'])
            await world.createMailbox(world.at(name)).catch(() => undefined)
          await world.deliver([saying('heliotrope', 1), saying('heliotrope', 400), saying('nothing', 2)])
          await world.deliver(saying('heliotrope', 200), world.at('Projects'))
          await world.deliver(saying('Grüße aus Köln', 300), world.at('Projects'))
          await world.deliver(saying('heliotrope', 3), world.at('Trash'))
          await world.deliver(saying('heliotrope', 4), world.at('Junk'))
        },
      })
      const { app, accountId, search } = account
      const mailboxes = await readMailboxes(app, accountId)
      const idOf = (name: string) => mailboxes.find(mailbox => mailbox.name === name)?.id ?? ''

      const found = await search({ q: 'heliotrope', source: 'provider' })

      expect(found).toMatchObject({ status: 200, body: { source: 'provider', nextCursor: null } })
      expect(subjectsOf(found)).toEqual(['heliotrope 1', 'heliotrope 200', 'heliotrope 400'])
      const [indexed, other, old] = found.body.items
      expect(indexed).toEqual((await readMessages(app, accountId)).find(({ id }) => id === indexed?.id))
      expect(old).toEqual({
        ...indexed,
        id: null,
        threadId: null,
        internetMessageId: indexed?.internetMessageId?.replace('-1@', '-400@'),
        subject: 'heliotrope 400',
        receivedAt: old?.receivedAt,
      })
      expect(other).toMatchObject({ id: null, mailboxIds: [idOf('Projects')], direction: 'inbound' })
      expect(subjectsOf(await search({ q: 'Grüße aus Köln', source: 'provider' }))).toEqual([
        expect.stringContaining('300'),
      ])
      const inTrash = await search({ q: 'heliotrope', source: 'provider', mailboxId: idOf('Trash') })
      expect(subjectsOf(inTrash)).toEqual(['heliotrope 3'])

      await app.post(`/v1/accounts/${accountId}/identities`, { address: other?.from?.address })
      const again = await search({ q: 'heliotrope', source: 'provider', mailboxId: idOf('Projects') })
      expect(again.body.items).toMatchObject([{ id: null, direction: 'outbound' }])
    })

    test('returns pages over all mailboxes, even if messages come and go in between', async () => {
      // Ten messages with three different times, in two mailboxes, some of them before the window.
      const moments = [400, 10, 10, 400, 2]
      await using account = await openSearchedAccount({
        start,
        async arrange(world) {
          await world.createMailbox(world.at('Projects'))
          for (const [mailbox, name] of [
            ['INBOX', 'first'] as const,
            [world.at('Projects'), 'second'] as const,
          ]) {
            await world.deliver(
              moments.map((daysAgo, nth) => ({
                ...saying('zinnia', daysAgo, { Subject: `${name} ${nth}` }),
                internalDate: new Date(Date.UTC(2026, 10, 20) - daysAgo * 24 * 60 * 60_000),
              })),
              mailbox,
            )
          }
        },
      })
      const { search, world } = account
      const all = subjectsOf(await search({ q: 'zinnia', source: 'provider' }))
      expect(all).toHaveLength(10)

      const pages: Array<Array<string | null>> = []
      for (let cursor: string | null = ''; cursor !== null && pages.length < 10;) {
        const query = { q: 'zinnia', source: 'provider', limit: 3, ...(cursor ? { cursor } : {}) }
        const answer = await search(query)
        pages.push(subjectsOf(answer))
        cursor = answer.body.nextCursor
        if (pages.length === 1) {
          // The newest one, which was already returned.
          const uids = await world.uids('INBOX')
          await world.expunge('INBOX', uids.slice(4, 5))
        }
      }
      expect(pages.map(page => page.length)).toEqual([3, 3, 3, 1])
      expect(pages.flat()).toEqual(all)
    })
  },
)

describe('GET /v1/accounts/{accountId}/search/messages?source=provider', () => {
  test('filters the results of the provider, so that a page may be short although more follows', async () => {
    const attached = {
      'Content-Type': 'application/pdf; name=phlox.pdf',
      'Content-Disposition': 'attachment; filename=phlox.pdf',
      From: 'Grace <GRACE@c.test>',
    }
    await using account = await openSearchedAccount({
      async arrange(world) {
        for (const daysAgo of [3, 100]) {
          const [first] = await world.deliver([
            saying('phlox', daysAgo),
            saying('phlox', daysAgo, { ...attached, Subject: `attached ${daysAgo}` }),
            saying('phlox', daysAgo, { Subject: `copied ${daysAgo}`, Bcc: 'Hidden <hidden@d.test>' }),
          ])
          await world.flag('INBOX', [first ?? 0], '\\Seen', '\\Flagged')
        }
      },
    })
    const { search } = account
    const matching = async (filters: Record<string, string>) => {
      const subjects: Array<string | null> = []
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = { q: 'phlox', source: 'provider', limit: 2, ...filters, ...(cursor ? { cursor } : {}) }
        const answer = await search(query)
        expect(answer.status).toBe(200)
        subjects.push(...subjectsOf(answer))
        cursor = answer.body.nextCursor
      }
      return subjects
    }
    expect(await matching({})).toHaveLength(6)
    expect(await matching({ from: 'grace@' })).toEqual(['attached 3', 'attached 100'])
    expect(await matching({ to: 'HIDDEN' })).toEqual(['copied 3', 'copied 100'])
    expect(await matching({ flagged: 'true' })).toEqual(['phlox 3', 'phlox 100'])
    expect(await matching({ unread: 'false' })).toEqual(['phlox 3', 'phlox 100'])
    expect(await matching({ unread: 'true', hasAttachments: 'true' })).toEqual(['attached 3', 'attached 100'])
    const boundary = new Date(Date.now() - 50 * 24 * 60 * 60_000).toISOString()
    expect(await matching({ after: boundary, flagged: 'true' })).toEqual(['phlox 3'])
    expect(await matching({ before: boundary, from: 'ada' })).toEqual(['copied 100', 'phlox 100'])

    const short = await search({ q: 'phlox', source: 'provider', limit: 1, flagged: 'true' })
    expect(short.body).toMatchObject({ items: [], nextCursor: expect.any(String) })
  })

  test('accepts only its own cursors, for an hour', async () => {
    await using account = await openSearchedAccount({
      arrange: world => world.deliver([1, 2, 100].map(daysAgo => saying('aster', daysAgo))),
    })
    const { search, pass } = account
    const first = await search({ q: 'aster', source: 'provider', limit: 1 })
    const cursor = first.body.nextCursor ?? ''
    const fromIndex = (await search({ q: 'aster', source: 'index', limit: 1 })).body.nextCursor ?? ''
    expect(fromIndex).not.toBe('')
    const second = { q: 'aster', source: 'provider', limit: 2, cursor }
    expect(subjectsOf(await search(second))).toEqual(['aster 2', 'aster 100'])
    expect((await search({ ...second, source: 'auto' })).body).toMatchObject({ source: 'provider' })

    const turned = (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1)
    for (const wrong of [
      { ...second, q: 'asters' },
      { ...second, unread: 'true' },
      { ...second, source: 'index' },
      { ...second, cursor: fromIndex },
      { ...second, cursor: turned },
      { ...second, cursor: 'x' },
    ]) {
      expect(await search(wrong), JSON.stringify(wrong)).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
    }
    pass(59 * 60)
    expect((await search(second)).status).toBe(200)
    pass(2 * 60)
    for (const source of ['provider', 'auto']) {
      expect(await search({ ...second, source })).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
    }
    expect((await search({ q: 'aster', source: 'index', limit: 1, cursor: fromIndex })).status).toBe(200)
  })

  test('sends the text unchanged or not at all', async () => {
    const texts = ['say "hello"', 'back\\slash', '{5}', '(OR ALL)', '日本語の手紙', '100% *']
    await using account = await openSearchedAccount({
      arrange: world =>
        world.deliver(texts.map((text, nth) => saying(text, 100 + nth, { Subject: `${nth}` }))),
    })
    const { search } = account
    for (const [nth, q] of texts.entries())
      expect(subjectsOf(await search({ q, source: 'provider' })), q).toEqual([`${nth}`])
    for (const q of ['say\r\nA1 LOGOUT', 'say\nhello']) {
      expect(await search({ q, source: 'provider' })).toMatchObject({
        status: 400,
        body: { code: 'provider_rejected' },
      })
      expect((await search({ q, source: 'auto' })).body.source).toBe('index')
    }
    const nul = await search({ q: 'a\0b', source: 'provider' })
    expect(nul).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
  })

  test('reports why the server, the network or the account prevents it', async () => {
    await using account = await openSearchedAccount({
      arrange: world => world.deliver(saying('aster', 100)),
    })
    const { app, accountId, proxy, search } = account
    const asked = () => search({ q: 'ästér', source: 'provider' })
    for (const [refusal, status, code] of [
      ['BAD What?', 400, 'provider_rejected'],
      ['NO [CANNOT] no search here', 400, 'provider_rejected'],
      ['NO [BADCHARSET] no', 400, 'provider_unsupported'],
      ['NO [NOPERM] not you', 403, 'provider_forbidden'],
      ['NO [LIMIT] slow down', 429, 'provider_throttled'],
      ['NO [UNAVAILABLE] later', 502, 'provider_unavailable'],
    ] as const) {
      proxy.faults = { refusedCommands: [/^UID SEARCH .*TEXT/], refusal }
      expect(await asked(), refusal).toMatchObject({ status, body: { code } })
      expect((await search({ q: 'ästér' })).body, refusal).toMatchObject({ source: 'index', items: [] })
    }
    proxy.faults = { byeAtGreeting: 'go away' }
    proxy.cutAll()
    expect(await asked()).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect((await search({ q: 'ästér' })).body.source).toBe('index')
    proxy.faults = {}
    expect((await asked()).status).toBe(200)

    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    expect(await asked()).toMatchObject({ status: 409, body: { code: 'account_paused' } })
    expect((await search({ q: 'ästér' })).body.source).toBe('index')
    for (const status of ['reauth_required', 'disabled'] as const) {
      await app.db.updateTable('account').set({ status }).execute()
      expect(await asked()).toMatchObject({ status: 409, body: { code: `account_${status}` } })
      expect((await search({ q: 'ästér' })).body.source).toBe('index')
    }
    await app.db
      .updateTable('account')
      .set({ status: 'active', data_key: Buffer.alloc(60) })
      .execute()
    // An open connection needs no secret.
    proxy.cutAll()
    expect(await asked()).toMatchObject({ status: 409, body: { code: 'account_misconfigured' } })
    expect((await search({ q: 'ästér' })).body.source).toBe('index')
  })

  test('leaves out a message on which the server crashes', async () => {
    await using account = await openSearchedAccount({
      arrange: world => world.deliver(Array.from({ length: 60 }, (_, nth) => saying('aster', 100 + nth))),
    })
    const { proxy, search } = account
    proxy.faults = { poison: { uids: [17], does: 'cut' } }
    const found = await search({ q: 'aster', source: 'provider', limit: 60 })
    const expected = Array.from({ length: 60 }, (_, nth) => `aster ${100 + nth}`)
    expect(subjectsOf(found)).toEqual(expected.filter(subject => subject !== 'aster 116'))
  })

  test('runs several times at once and during downloads, over one connection', async () => {
    const large = saying('aster', 1)
    large.raw += 'Purple, yellow in the middle.\r\n'.repeat(100_000)
    await using account = await openSearchedAccount({
      arrange: world => world.deliver([large, ...[100, 200].map(daysAgo => saying('aster', daysAgo))]),
    })
    const { app, accountId, proxy, search } = account
    const [message] = await readMessages(app, accountId)
    const url = `${app.address}/v1/accounts/${accountId}/messages/${message?.id}/raw`
    const before = proxy.stats.connectedAt.length
    const download = () => fetch(url, { headers: { authorization: `Bearer ${app.key}` } })
    const begun = await download()

    const [second, ...found] = await Promise.all([
      download(),
      ...Array.from({ length: 6 }, () => search({ q: 'aster', source: 'provider' })),
    ])
    for (const { body } of found)
      expect(body.items.map(({ subject }) => subject)).toEqual(['aster 1', 'aster 100', 'aster 200'])
    for (const answer of [begun, second]) expect(await answer.text()).toBe(large.raw)
    expect(proxy.stats.connectedAt.length - before).toBe(1)
  })
})
