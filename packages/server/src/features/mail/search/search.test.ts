/** @module-tag postgres-16-in-soak */
import { randomUUID } from 'node:crypto'
import type { SearchAnswer } from '@waxwing/contract/mail/search.ts'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/open-app.ts'
import {
  sampleAccount,
  sampleMailbox,
  type SampleMessage,
  sampleMessages,
} from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { openFairSemaphore } from '../../../kit/fair-semaphore.ts'
import { createCursorCodec } from '../../../database/page.ts'
import { searchIndex } from './index-search.ts'
import { requireSearchPosition } from './search-cursor.ts'

/** The position in a cursor before the newest message, when every message is looked at. */
const WALK = ['', '', '', '', '', '', '', 'walk']

type Given = Omit<SampleMessage, 'mailboxIds'> & { mailbox?: string }
type Filters = Record<string, string | number | boolean>

/** Opens an account with these messages, newest first, and a function that searches it and returns subjects. */
async function openAccount(app: TestApp, messages: readonly Given[]) {
  const account = await sampleAccount(app.db, app.tenantId)
  const mailboxes = new Map<string, string>()
  for (const { mailbox = 'INBOX' } of messages) {
    if (!mailboxes.has(mailbox))
      mailboxes.set(mailbox, (await sampleMailbox(app.db, account, { name: mailbox })).id)
  }
  const rows = messages.map(({ mailbox = 'INBOX', ...message }, nth) => ({
    receivedAt: new Date(Date.UTC(2026, 0, 1) - nth * 60_000),
    ...message,
    mailboxIds: [mailboxes.get(mailbox)!],
  }))
  const ids = await sampleMessages(app.db, account, rows)
  const ask = (q: string, filters: Filters = {}) => {
    const query = new URLSearchParams({ q, source: 'index' })
    for (const [name, value] of Object.entries(filters)) query.set(name, String(value))
    return app.get<SearchAnswer>(`/v1/accounts/${account.id}/search/messages?${query}`)
  }
  return {
    account,
    ids,
    mailboxId: (name: string) => mailboxes.get(name)!,
    ask,
    async find(q: string, filters: Filters = {}) {
      const { status, body } = await ask(q, filters)
      expect(status, JSON.stringify(body)).toBe(200)
      return body.items.map(({ subject }) => subject)
    },
  }
}

const searches = openFairSemaphore({ atOnce: 1, waitingMax: 0 })

/** The context that the front door gives to `searchIndex`. */
function searchContext({ db, tenantId }: TestApp) {
  const cursors = createCursorCodec(Buffer.alloc(32))
  return { db, tenantId, cursors }
}

describe('GET /v1/accounts/{accountId}/search/messages?source=index', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await openTestApp()
    return () => app[Symbol.asyncDispose]()
  })

  test('finds words, phrases, alternatives and exclusions', async () => {
    const { find } = await openAccount(app, [
      { subject: 'one', snippet: 'The quarterly report of the Zürich branch' },
      { subject: 'two', snippet: 'A report: quarterly, but without any branch office' },
      { subject: 'three', snippet: 'See https://wiki.example.com/plan?id=7, says bob.smith@example.com' },
    ])
    expect(await find('REPORT')).toEqual(['one', 'two'])
    expect(await find('report branch zurich')).toEqual(['one'])
    expect(await find('"quarterly report"')).toEqual(['one'])
    expect(await find('"report: quarterly"')).toEqual(['two'])
    expect(await find('zurich OR wiki')).toEqual(['one', 'three'])
    expect(await find('report zurich OR office')).toEqual(['one', 'two'])
    expect(await find('report -zürich')).toEqual(['two'])
    expect(await find('report -"quarterly report"')).toEqual(['two'])
    expect(await find('-report')).toEqual(['three'])
    expect(await find('-"quarterly report" -wiki')).toEqual(['two'])
    expect(await find('https://wiki.example.com/plan?id=7')).toEqual(['three'])
    expect(await find('"wiki.example.com/plan"')).toEqual(['three'])
    expect(await find('bob.smith@example.com')).toEqual(['three'])
    expect(await find('smith.bob@example.com')).toEqual([])
    expect(await find('repor')).toEqual([])
    expect(await find('quarterly -quarterly')).toEqual([])
  })

  test('searches subject, names, addresses and text; lists the best matches first, then the newest', async () => {
    const { find } = await openAccount(app, [
      { subject: 'text', snippet: 'the kestrel flies' },
      { subject: 'cc', cc: [{ name: 'Kestrel Fan', address: 'fan@b.test' }] },
      { subject: 'to', to: [{ name: null, address: 'kestrel@b.test' }] },
      { subject: 'from', from: { name: 'Kim', address: 'kim@kestrel.test' } },
      { subject: 'bcc', bcc: [{ name: null, address: 'kestrel@c.test' }] },
      { subject: 'old kestrel' },
      { subject: 'older kestrel' },
      { subject: 'none' },
    ])
    expect(await find('kestrel')).toEqual(['old kestrel', 'older kestrel', 'from', 'cc', 'to', 'bcc', 'text'])
    // No phrase matches across the subject and the sender's name.
    expect(await find('"kestrel ada"')).toEqual([])
  })

  /** complaints: mail in scripts without spaces is not found by parts of its words */
  test.each([
    [
      '会议记录：gen-itgc后端服务已上线',
      ['会', '会议', '议记录', '会议记录', '后', '后端', 'gen-itgc后', 'itgc后端服', '线'],
    ],
    [
      '東京タワーへようこそ、ｶﾀｶﾅ',
      ['東', '京タ', 'タワー', 'ようこそ', 'カタカナ', '"東京タワーへようこそ"'],
    ],
    ['한국어 회의록을 보냅니다', ['한', '국어', '회의록', '보냅니다', '"한국어 회의록을"']],
    ['รายงานการประชุมประจำเดือน', ['ร', 'งาน', 'ประชุม', 'เดือน', 'ประจำเดือน']],
  ])('finds any part of %s', async (snippet, queries) => {
    const { find } = await openAccount(app, [{ subject: 'it', snippet }, { subject: 'not' }])
    for (const q of queries) expect({ q, found: await find(q) }).toEqual({ q, found: ['it'] })
    for (const q of ['議', '议会', '录会议', '东京', '국한', 'ชุมประ่', 'gen-itgc前'])
      expect({ q, found: await find(q) }).toEqual({ q, found: [] })
  })

  test('applies each filter', async () => {
    const wren = { snippet: 'wren' }
    const { find, mailboxId, ask } = await openAccount(app, [
      { ...wren, subject: 'plain', from: { name: 'Ada', address: 'ada@a.test' } },
      { ...wren, subject: 'box', mailbox: 'Other', isRead: true, from: { name: 'Böb', address: 'b@b.test' } },
      { ...wren, subject: 'flag', isFlagged: true, to: [{ name: 'Carol', address: 'carol@c.test' }] },
      { ...wren, subject: 'file', hasAttachments: true, bcc: [{ name: null, address: 'dan@d.test' }] },
      { subject: 'another', isFlagged: true },
    ])
    const all = ['plain', 'box', 'flag', 'file']
    expect(await find('wren')).toEqual(all)
    expect(await find('wren', { mailboxId: mailboxId('Other') })).toEqual(['box'])
    expect(await find('-flag', { mailboxId: mailboxId('Other') })).toEqual(['box'])
    expect(await find('-box', { mailboxId: mailboxId('Other') })).toEqual([])
    expect(await find('-flag', { flagged: true })).toEqual(['another'])
    expect(await find('wren', { unread: false })).toEqual(['box'])
    expect(await find('wren', { unread: true })).toEqual(['plain', 'flag', 'file'])
    expect(await find('wren', { flagged: true })).toEqual(['flag'])
    expect(await find('wren', { hasAttachments: true })).toEqual(['file'])
    expect(await find('wren', { from: 'BÖB' })).toEqual(['box'])
    expect(await find('wren', { to: 'carol@' })).toEqual(['flag'])
    expect(await find('wren', { to: 'dan' })).toEqual(['file'])
    expect(await find('wren', { from: '%' })).toEqual([])
    expect(await find('wren', { after: '2025-12-31T23:58:00Z' })).toEqual(['plain', 'box', 'flag'])
    expect(await find('wren', { before: '2025-12-31T23:59:00Z' })).toEqual(['flag', 'file'])
    expect(await find('wren', { unread: true, flagged: false, mailboxId: mailboxId('INBOX') })).toEqual([
      'plain',
      'file',
    ])
    expect(
      await ask('wren', { after: '2026-01-01T00:00:00Z', before: '2026-01-01T00:00:00Z' }),
    ).toMatchObject({
      status: 400,
      body: { code: 'invalid_range' },
    })
    const mailboxOfNobody = randomUUID()
    expect(await ask('wren', { mailboxId: mailboxOfNobody })).toMatchObject({
      status: 422,
      body: { code: 'unknown_mailbox', data: { ids: [mailboxOfNobody] } },
    })
  })

  test('finds only messages of the account, within its sync window', async () => {
    const one = await openAccount(app, [{ subject: 'mine', snippet: 'heron', receivedAt: new Date() }])
    const two = await openAccount(app, [{ subject: 'theirs', snippet: 'heron' }])
    expect(await one.find('heron')).toEqual(['mine'])
    expect(await two.find('heron')).toEqual(['theirs'])
    await sql`update account set settings_override = '{"syncWindowDays": 30}' where id = ${two.account.id}`.execute(
      app.db,
    )
    expect(await two.find('heron')).toEqual([])
    await sql`delete from message where account_id = ${one.account.id}`.execute(app.db)
    expect(await one.find('heron')).toEqual([])
    const left = await sql`select from message_search where account_id = ${one.account.id}`.execute(app.db)
    expect(left.rows).toEqual([])
  })

  test('returns summaries, and names the source that answered', async () => {
    const { account, ids, ask } = await openAccount(app, [{ subject: 'ibis', snippet: 'text' }])
    const { body } = await ask('ibis')
    const listed = await app.get<{ items: unknown[] }>(`/v1/accounts/${account.id}/messages`)
    expect(body).toEqual({ items: listed.body.items, nextCursor: null, source: 'index' })
    expect(body.items[0]?.id).toBe(ids[0])
  })
})

describe('pages of a search', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await openTestApp()
    return () => app[Symbol.asyncDispose]()
  })
  const birds = (count: number) =>
    Array.from({ length: count }, (_, nth) => ({
      subject: nth % 3 === 0 ? `bird ${nth}` : `${nth}`,
      snippet: nth % 3 === 1 ? 'a bird that sings' : 'that bird again, that bird',
      // Three have the same time, so that the id decides too.
      receivedAt: new Date(Date.UTC(2026, 0, 1) - Math.floor(nth / 3) * 60_000),
      isFlagged: nth % 5 === 0,
    }))

  test('have no repeats or gaps', async () => {
    const { ask, find } = await openAccount(app, birds(30))
    const found: Array<string | null> = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body }: { body: SearchAnswer } = await ask('bird', { limit: 7, ...(cursor ? { cursor } : {}) })
      found.push(...body.items.map(({ subject }) => subject))
      cursor = body.nextCursor
    }
    expect(found).toHaveLength(30)
    expect(found).toEqual(await find('bird', { limit: 100 }))
    expect(found.slice(0, 10).every(subject => subject?.startsWith('bird'))).toBe(true)
  })

  test.each([
    ['bird', {}, 40],
    ['"that bird"', {}, 27],
    ['bird -sings', {}, 27],
    ['-sings', {}, 27],
    ['bird', { flagged: true }, 8],
    ['"that bird"', { flagged: true, unread: true }, 6],
    ['-"that bird"', {}, 13],
  ] as const)('have no repeats or gaps across bands: %s %j', async (q, filters, count) => {
    const { account } = await openAccount(app, birds(40))
    const context = searchContext(app)
    const input = { accountId: account.id, q, filters }
    for (const [bandMessages, limit] of [
      [1, 1],
      [4, 3],
      [7, 3],
      [7, 7],
      [5, 100],
    ] as const)
      for (const way of ['listed', 'walked', 'listed, then walked']) {
        // A band has later pages only if it holds more than one.
        if (way === 'listed, then walked' && limit >= bandMessages) continue
        const found: string[] = []
        for (let cursor: string | null | undefined = undefined; cursor !== null;) {
          const before: string[] | undefined = requireSearchPosition(context, input, cursor)?.place
          const later = way === 'listed, then walked' ? before?.with(-1, 'walk') : before
          const place = later ?? (way === 'walked' ? WALK : null)
          const page = await searchIndex(context, searches, input, { place, limit, bandMessages })
          found.push(...page.items.map(json => String((JSON.parse(json) as { id: string }).id)))
          cursor = page.nextCursor
          expect(cursor?.length ?? 0).toBeLessThanOrEqual(512)
        }
        expect({ bandMessages, limit, found: found.length, different: new Set(found).size }).toEqual({
          bandMessages,
          limit,
          found: count,
          different: count,
        })
      }
  })

  test.each(['bird', '-sings'])('are empty for a mailbox of another account: %s', async q => {
    const own = await openAccount(app, birds(10))
    const other = await openAccount(app, birds(10))
    const context = searchContext(app)
    const find = async (accountId: string) => {
      const input = { accountId, q, filters: { mailboxId: other.mailboxId('INBOX') } }
      return (await searchIndex(context, searches, input, { place: null, limit: 25 })).items
    }
    expect((await find(other.account.id)).length).toBeGreaterThan(0)
    expect(await find(own.account.id)).toEqual([])
  })

  test('refuse a cursor that this search did not issue', async () => {
    const { account, ask } = await openAccount(app, birds(10))
    const other = await openAccount(app, birds(10))
    const { body } = await ask('bird', { limit: 2, flagged: false })
    const cursor = body.nextCursor!
    expect((await ask('bird', { limit: 5, flagged: false, cursor })).status).toBe(200)
    const list = await app.get<{ nextCursor: string }>(`/v1/accounts/${account.id}/messages?limit=1`)
    const refused = [
      ask('bird', { cursor }),
      ask('bird', { flagged: true, cursor }),
      ask('birds', { flagged: false, cursor }),
      ask('bird', { flagged: false, cursor, source: 'provider' }),
      other.ask('bird', { flagged: false, cursor }),
      ask('bird', { flagged: false, cursor: `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}` }),
      ask('bird', { flagged: false, cursor: list.body.nextCursor }),
      ask('bird', { flagged: false, cursor: '' }),
      ask('bird', { flagged: false, cursor: 'x'.repeat(513) }),
      ask('bird', {
        flagged: false,
        cursor: Buffer.from('["index","","","","","","",""]').toString('base64url'),
      }),
    ]
    for (const answer of await Promise.all(refused))
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })
})

describe('the query', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await openTestApp()
    return () => app[Symbol.asyncDispose]()
  })

  test('is always read as words only', async () => {
    const { ask, find } = await openAccount(app, [{ subject: 'robin' }, { subject: 'wagtail' }])
    const hostile = [
      `'; drop table message_search; --`,
      `robin' or '1'='1`,
      `robin"; select pg_sleep(10); --`,
      `' & 'robin' | !'x':*A <-> 'y`,
      `robin:*`,
      `!robin`,
      `robin <-> wagtail`,
      `(((((robin`,
      `robin)`,
      `\\'robin\\`,
      `\\`,
      `'`,
      `"""""`,
      `--------`,
      `OR OR OR`,
      `-OR -OR`,
      `$1 $2 $$`,
      `\u0001\u0002\u001f\u007f`,
      `\ud800`,
      `\udfff robin`,
      `robin\n\r\twagtail`,
      `\u202erobin`,
      `%' union select null--`,
      `{{7*7}} \${7*7}`,
      `\ufffd\ufffe\uffff`,
      `${'('.repeat(499)}`,
      `${'"'.repeat(499)}`,
      `${'-"a" OR '.repeat(60)}`,
      `${'😀'.repeat(500)}`,
      [...'天地玄黄宇宙洪荒日月盈昃辰宿列张'].join(' OR '),
    ]
    for (const q of hostile) expect({ q, status: (await ask(q)).status }).toEqual({ q, status: 200 })
    expect(await find(`robin:*`)).toEqual(['robin'])
    expect(await find(`!robin`)).toEqual(['robin'])
    expect(await find(`robin' | 'wagtail`)).toEqual([])
  })

  test('has 1 to 500 characters', async () => {
    const { account, ask } = await openAccount(app, [])
    const path = `/v1/accounts/${account.id}/search/messages`
    expect(await ask('x'.repeat(500))).toMatchObject({ status: 200, body: { items: [], nextCursor: null } })
    expect((await ask('𝔵'.repeat(500))).status).toBe(200)
    const refused = await Promise.all([
      app.get(path),
      app.get(`${path}?q=`),
      app.get(`${path}?q=a&q=b`),
      app.get(`${path}?q=a%00b`),
      app.get(`${path}?q=a&importance=high`),
      app.get(`${path}?q=a&source=both`),
      app.get(`${path}?q=a&limit=0`),
      app.get(`${path}?q=a&limit=101`),
      ask('x'.repeat(501)),
    ])
    for (const answer of refused)
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
  })

  test('is compared with every message if the index of words takes too long', async () => {
    const { ask } = await openAccount(app, [{ subject: 'robin' }, { subject: 'wren' }])
    const asked = await app.db.transaction().execute(async tx => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
      await sql`lock table message_search in access exclusive mode`.execute(tx)
      const answer = ask('robin')
      await waitUntil('the messages are walked through', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like ${'%from message) as search%'} and pid <> pg_backend_pid()`.execute(app.db)
        return rows.length > 0
      })
      return { answer }
    })
    expect(await asked.answer).toMatchObject({ status: 200, body: { items: [{ subject: 'robin' }] } })
  })

  test('times out after a few seconds, with a reason, on later pages too', async () => {
    const { ask } = await openAccount(app, [{ subject: 'robin' }, { subject: 'robin, too' }])
    const { body } = await ask('robin', { limit: 1 })
    const answers = await app.db.transaction().execute(async tx => {
      // Every search waits for this lock, together for most of the time after which a transaction at rest is ended.
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
      await sql`lock table message_search in access exclusive mode`.execute(tx)
      return Promise.all([ask('robin'), ask('robin', { limit: 1, cursor: body.nextCursor! })])
    })
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 503, body: { code: 'overloaded', defined: true } })
  })

  test('of a tenant is not refused because another has more searches than may wait', async () => {
    const { ask: askAlone, account } = await openAccount(app, [{ subject: 'robin' }])
    const modest = await openModest(app)
    const keys = await Promise.all(
      Array.from({ length: 6 }, () => app.createKey({ accountIds: [account.id] })),
    )
    const path = `/v1/accounts/${account.id}/search/messages?q=robin&source=index`
    await askAlone('robin')
    await modest.ask()
    let refusedCount = 0
    const { ofOne, ofOther } = await app.db.transaction().execute(async tx => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
      await sql`lock table message_search in access exclusive mode`.execute(tx)
      const requests = keys.flatMap(({ text }) =>
        Array.from({ length: 16 }, async () => {
          const { status } = await app.as(text).get(path)
          if (status === 503) refusedCount++
        }),
      )
      await waitUntil('searches of one tenant that are too many', () => Promise.resolve(refusedCount >= 28))
      const searchesOfOther = [modest.ask(), modest.ask(), modest.ask()]
      // By their answers, the searches before them have been refused or wait.
      for (let nth = 0; nth < 3; nth++) await modest.get('/v1/accounts')
      return { ofOne: requests, ofOther: searchesOfOther }
    })
    for (const answer of await Promise.all(ofOther)) expect(whyRefused(answer)).toBeNull()
    await Promise.all(ofOne)
  })
})

/** Another tenant with an account that can be searched. */
async function openModest(app: TestApp) {
  const other = await app.createTenant('modest')
  const account = await sampleAccount(app.db, other.tenantId)
  const mailbox = await sampleMailbox(app.db, account)
  await sampleMessages(app.db, account, [{ subject: 'robin', mailboxIds: [mailbox.id] }])
  return {
    get: other.get,
    ask: () => other.get(`/v1/accounts/${account.id}/search/messages?q=robin&source=index`),
  }
}

/** The message of a refusal, except for a search that ran and took too long. */
function whyRefused({ status, body }: { status: number; body: unknown }): string | null {
  const { message = '' } = body as { message?: string }
  return status === 200 || message.includes('took too long') ? null : `${status} ${message}`
}
