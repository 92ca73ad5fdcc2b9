import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { listContacts } from '../packages/server/src/features/contacts/contacts/store.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { startRadicale } from '../packages/server/test/servers/radicale.ts'
import { cardOf, makeFullBook } from './address-book.ts'
import {
  addHalf,
  openReplay,
  reportFirstSync,
  reportQuietPass,
  untilHalf,
  untilQuiet,
  watchDav,
} from './dav-account.ts'
import { short } from './figures.ts'
import { openGet, openPost } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Benchmark, Report } from './row.ts'
import { openItsDatabase, openSameSql } from './same-sql.ts'
import { type BenchService, startBenchService } from './service.ts'

const CARDS = Number(process.env['WAXWING_BENCH_CARDS'] ?? 5_000)
const COPIES = 3
/** The word is in about one of 1,009 contacts. */
const WORD = 'family77'
const IDLE_SECONDS = 60

export const contacts: Benchmark = {
  name: 'contacts',
  about:
    'First sync, quiet pass, search and POST of contacts by CardDAV, compared with the same requests and the same SQL alone.',
  async run(report) {
    await using server = await startDovecot()
    await using books = await startRadicale()
    await using watched = await watchDav(books)
    const { proxy, origin } = watched
    const user = await makeFullMailbox(server, 1)
    const davUser = await makeFullBook(books, CARDS)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    using replay = openReplay(origin)

    const measured = { service, accountId, half: 'contacts', calls: proxy.calls, replay } as const
    await reportFirstSync(report, { ...measured, user: davUser, origin, items: CARDS })
    await reportQuietPass(report, measured)
    const open = await countIdle(service.pid, Number(new URL(origin).port))
    report({
      measure: 'connections of the service to the address books, idle for a minute',
      result: String(open),
      yardstick: '',
      ratio: null,
      target: '0',
    })
    await reportSearch(report, service, accountId)

    const small = await makeFullBook(books, 0)
    const other = await makeFullMailbox(server, 1)
    const writingId = await service.connect(server, other)
    await service.untilInitialized(writingId)
    await addHalf(service, writingId, { half: 'contacts', user: small, origin })
    await untilHalf(service, writingId, 'contacts', true)
    const authorization = `Basic ${Buffer.from(`${small.user}:${small.password}`).toString('base64')}`
    using client = openPost(service)
    let made = 0
    const post = () =>
      client.post(`/v1/accounts/${writingId}/contacts`, {
        displayName: `Given Family ${++made}`,
        emails: [{ address: `${made}@example.org`, type: 'work' }],
      })
    await untilQuiet(proxy.calls)
    const before = proxy.calls.length
    await post()
    const asked = proxy.calls.length
    await untilQuiet(proxy.calls)
    report({
      measure: 'requests of one POST of a contact, and of the look after it',
      result: `${asked - before} + ${proxy.calls.length - asked}`,
      yardstick: '',
      ratio: null,
      target: '',
    })
    const figures = await compareLoad(1, {
      put: async () => {
        const uid = randomUUID()
        const path = `${small.homePath}people/${uid}.vcf`
        const headers = { authorization, 'content-type': 'text/vcard; charset=utf-8', 'if-none-match': '*' }
        const status = await replay.send({ method: 'PUT', path, headers, body: cardOf(uid, ++made) })
        if (status !== 201) throw new Error(`PUT: ${status}`)
      },
      post,
    })
    report({
      measure: 'POST of a contact, p50 in ms',
      result: short(figures.post.p50Ms),
      yardstick: `a bare PUT ${short(figures.put.p50Ms)}`,
      ratio: figures.post.p50Ms / figures.put.p50Ms,
      target: '≤ 2',
      cpu: figures.post.cpu,
    })
  },
}

async function reportSearch(report: Report, service: BenchService, accountId: string): Promise<void> {
  await copyContacts(service.folder.path)
  const http = openGet(service, `/v1/accounts/${accountId}/contacts?q=${WORD}&limit=25`)
  await using sql = await openSameSql(service.folder.path, accountId, db =>
    listContacts(db, accountId, { filters: { q: WORD, folderId: undefined }, position: null, limit: 25 }),
  )
  for (const callers of [1, 16]) {
    const figures = await compareLoad(callers, { sql: sql.run, http })
    const [name, unit, target] =
      callers === 1
        ? (['p50Ms', '1 caller, p50 in ms', '≤ 2.2'] as const)
        : (['perSecond', '16 callers, searches per second', '≥ 0.4'] as const)
    report({
      measure: `search in ${short(CARDS * (1 + COPIES))} contacts, ${unit}`,
      result: short(figures.http[name]),
      yardstick: `SQL ${short(figures.sql[name])}`,
      ratio: figures.http[name] / figures.sql[name],
      target,
      cpu: figures.http.cpu,
    })
  }
}

/** Fills the account with copies of its contacts. Only the content of the index matters. */
async function copyContacts(dataDir: string): Promise<void> {
  await using database = await openItsDatabase(dataDir)
  const { rows } = await database.pool.query<{ columns: string; values: string }>(`
    select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns,
      string_agg(case column_name
        when 'id' then 'gen_random_uuid()' when 'provider_key' then $$provider_key || '-' || nth$$
        else quote_ident(column_name) end, ', ' order by ordinal_position) as values
    from information_schema.columns where table_schema = 'public' and table_name = 'contact'`)
  const { columns = '', values = '' } = rows[0] ?? {}
  await database.pool.query(
    `insert into contact (${columns}) select ${values} from contact, generate_series(1, ${COPIES}) as nth`,
  )
  await database.pool.query('vacuum analyze contact')
}

/** Counts connections once none is left, or after a minute. */
async function countIdle(pid: number, port: number): Promise<number> {
  for (let seconds = 0; seconds < IDLE_SECONDS && countConnections(pid, port) > 0; seconds++)
    await sleep(1_000)
  return countConnections(pid, port)
}

/** The number of open TCP connections of a process to a port of this machine. */
function countConnections(pid: number, port: number): number {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // It was closed meanwhile.
      }
    }),
  )
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .filter(line => {
      const fields = line.trim().split(/\s+/)
      return fields[2]?.endsWith(`:${wanted}`) === true && fields[3] === '01' && own.has(fields[9] ?? '')
    }).length
}
