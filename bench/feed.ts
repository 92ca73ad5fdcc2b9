import { sql } from 'kysely'
import { openDatabase } from '../packages/server/src/database/pool.ts'
import { makePartitions } from '../packages/server/src/events/partitions.ts'
import { readFeed } from '../packages/server/src/features/notifications/changes/store.ts'
import { silentLog } from '../packages/server/src/kit/log.ts'
import { short } from './figures.ts'
import { openPageGet } from './http.ts'
import { compareLoad } from './load.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase, sameStatements } from './same-sql.ts'
import { startBenchService } from './service.ts'

const EVENTS = 5_000_000
const EVENTS_AT_ONCE = 100_000

export const feed: Benchmark = {
  name: 'feed',
  about:
    'A page of 50 of 5 million events over HTTP with a key, compared with the same SQL through pg with a named statement.',
  async run(report) {
    await using service = await startBenchService()
    await using its = await openItsDatabase(service.folder.path)
    await using database = openDatabase({ address: its.address, applicationName: 'waxwing bench' })
    const { db } = database
    const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()

    const add = async (count: number) => {
      for (let done = 0; done < count; done += EVENTS_AT_ONCE) {
        await makePartitions(db, { log: silentLog, signal: new AbortController().signal })
        await sql`
          insert into event (tenant_id, id, type, data)
          select ${tenantId}::uuid, nextval('event_id'), 'message.updated',
            json_build_object('message', json_build_object('id', gen_random_uuid(), 'subject', repeat('word ', 30)))
          from generate_series(1, ${EVENTS_AT_ONCE}::int)
        `.execute(db)
      }
    }
    await add(EVENTS / 2)
    const { body } = await service.get<{ nextCursor: string }>('/v1/changes?start=now')
    const { rows } = await sql<{ id: string }>`select max(id) as id from event`.execute(db)
    await add(EVENTS / 2)
    await sql`vacuum (analyze) event`.execute(db)

    const run = await sameStatements(its.pool, own =>
      readFeed(own, { tenantId, accountIds: null, types: null }, rows[0]!.id, 50),
    )
    using http = openPageGet(service, `/v1/changes?limit=50&cursor=${body.nextCursor}`)
    for (const callers of [1, 16]) {
      const figures = await compareLoad(callers, { sql: run, http: http.get })
      const [name, unit] =
        callers === 1 ? (['p50Ms', 'p50 in ms'] as const) : (['perSecond', 'pages per second'] as const)
      const [ours, theirs] = [figures.http[name], figures.sql[name]]
      report({
        measure: `${callers} caller${callers === 1 ? '' : 's'}, ${unit}`,
        result: short(ours),
        yardstick: `SQL ${short(theirs)}`,
        ratio: ours / theirs,
        target: callers === 1 ? '≤ 2.5 (1.8)' : '',
        cpu: figures.http.cpu,
      })
    }
  },
}
