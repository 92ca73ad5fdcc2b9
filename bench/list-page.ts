import { listSummaries } from '../packages/server/src/features/mail/messages/store.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { short } from './figures.ts'
import { openPageGet } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openSameSql } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 20_000

export const listPage: Benchmark = {
  name: 'list-page',
  about:
    'A page of 50 messages over HTTP with a key, compared with the same SQL through pg with a named statement.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    await using sql = await openSameSql(service.folder.path, accountId, (db, account) =>
      listSummaries(db, account, { filters: {}, position: null, limit: 50 }),
    )
    using http = openPageGet(service, `/v1/accounts/${accountId}/messages?limit=50`)

    for (const callers of [1, 16]) {
      const figures = await compareLoad(callers, { sql: sql.run, http: http.get })
      const [name, unit] =
        callers === 1 ? (['p50Ms', 'p50 in ms'] as const) : (['perSecond', 'pages per second'] as const)
      const [ours, theirs] = [figures.http[name], figures.sql[name]]
      report({
        measure: `${callers} caller${callers === 1 ? '' : 's'}, ${unit}`,
        result: short(ours),
        yardstick: `SQL ${short(theirs)}`,
        ratio: ours / theirs,
        target: callers === 1 ? '≤ 2.0 (1.8)' : '≥ 0.50 (0.55)',
        cpu: figures.http.cpu,
      })
    }
  },
}
