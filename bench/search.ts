import { ImapFlow } from 'imapflow'
import { searchBand } from '../packages/server/src/features/mail/search/store.ts'
import { parseQuery } from '../packages/server/src/kit/search-text/query.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { short } from './figures.ts'
import { openGet } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase, openSameSql } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 20_000
const COPIES = 9
/** A word in the text of about every twelfth message, and in the subject of a few. */
const WORD = 'figures'
const STORED_SECONDS_MAX = 900

export const search: Benchmark = {
  name: 'search',
  about:
    'The first 25 of a common word in stored bodies, compared with IMAP SEARCH BODY and with the same SQL through pg.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user, { bodyStorage: 'full' })
    await service.untilInitialized(accountId)
    await untilSearchable(service.folder.path)
    const http = openGet(service, `/v1/accounts/${accountId}/search/messages?source=index&q=${WORD}`)

    const client = new ImapFlow({
      host: server.host,
      port: server.port,
      secure: false,
      auth: { user: user.user, pass: user.password },
      logger: false,
    })
    await client.connect()
    await client.mailboxOpen('INBOX')
    const small = await compareLoad(1, { http, imap: () => client.search({ body: WORD }) })
    await client.logout()
    report({
      measure: `${short(MESSAGES)} messages, 1 caller, p50 in ms`,
      result: short(small.http.p50Ms),
      yardstick: `SEARCH BODY ${short(small.imap.p50Ms)}`,
      ratio: small.http.p50Ms / small.imap.p50Ms,
      target: '≤ 0.05 (0.02)',
      cpu: small.http.cpu,
    })

    await copyMessages(service.folder.path)
    const query = parseQuery(WORD)
    if (query === null) throw new Error('no query')
    const band = { above: null, end: null, behind: null }
    await using sql = await openSameSql(service.folder.path, accountId, db =>
      searchBand(db, accountId, { query, filters: {}, band, size: 5000, looks: 20_000, limit: 26 }),
    )
    for (const callers of [1, 16]) {
      const large = await compareLoad(callers, { sql: sql.run, http })
      const [name, unit] =
        callers === 1
          ? (['p50Ms', '1 caller, p50 in ms'] as const)
          : (['perSecond', '16 callers, searches per second'] as const)
      report({
        measure: `${short(MESSAGES * (1 + COPIES))} messages, ${unit}`,
        result: short(large.http[name]),
        yardstick: `SQL ${short(large.sql[name])}`,
        ratio: large.http[name] / large.sql[name],
        target: '',
        cpu: large.http.cpu,
      })
    }
  },
}

/** Waits until the words of every stored body are indexed. */
async function untilSearchable(dataDir: string): Promise<void> {
  await using database = await openItsDatabase(dataDir)
  const until = performance.now() + STORED_SECONDS_MAX * 1000
  for (;;) {
    const { rows } = await database.pool.query<{ missing: number }>(`
      select count(*)::int as missing from message where not is_draft
        and not exists (select from message_blob where message_id = message.id and is_indexed)`)
    if (rows[0]?.missing === 0) return
    if (performance.now() > until) throw new Error(`${rows[0]?.missing} bodies are not searchable`)
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

/**
 * Fills the account with copies of its messages, each a day older than the last. Only the content of the index matters.
 */
async function copyMessages(dataDir: string): Promise<void> {
  await using database = await openItsDatabase(dataDir)
  const { rows } = await database.pool.query<{ columns: string; values: string }>(`
    select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns,
      string_agg(case column_name
        when 'id' then 'copied.to_id' when 'received_at' then 'message.received_at - copied.days'
        else 'message.' || quote_ident(column_name) end, ', ' order by ordinal_position) as values
    from information_schema.columns where table_schema = 'public' and table_name = 'message'`)
  const { columns = '', values = '' } = rows[0] ?? {}
  await database.pool.query(`
    create table copied as select id as from_id, gen_random_uuid() as to_id, make_interval(days => nth) as days
    from message, generate_series(1, ${COPIES}) as nth`)
  await database.pool.query(
    `insert into message (${columns}) select ${values} from message join copied on copied.from_id = message.id`,
  )
  await database.pool.query(`
    insert into message_search (message_id, account_id, received_at, document)
    select to_id, account_id, received_at - days, document
    from message_search join copied on from_id = message_id`)
  await database.pool.query('drop table copied')
  await database.pool.query('vacuum analyze message, message_search')
}
