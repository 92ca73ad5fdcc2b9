import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { seeded } from '../seeded.ts'
import { makeDataFolder, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { createEndpoint, happen } from './open-webhooks.ts'
import { numberFor } from '../soak.ts'

const KILLS = numberFor({ ci: 2, soak: 3 })
const RETRY_MILLISECONDS = 20

/** Where the service answers at the moment, and the key. */
interface ApiAccess {
  address: string
  key: string | null
}
type Reader = (api: ApiAccess, ids: string[], signal: AbortSignal) => Promise<void>

const authorization = (api: ApiAccess) => ({ authorization: `Bearer ${api.key}` })

/** Reads the feed once, from behind the last id. Fails wherever the service is killed. */
const READERS: Record<string, () => Reader> = {
  poller() {
    let cursor: string | null = null
    return async (api, ids, signal) => {
      const query = cursor === null ? '' : `&waitSeconds=5&cursor=${encodeURIComponent(cursor)}`
      const answer = await fetch(`${api.address}/v1/changes?limit=3${query}`, {
        headers: authorization(api),
        signal,
      })
      const page = (await answer.json()) as { items: { id: string }[]; nextCursor: string }
      ids.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
  },
  stream: () => async (api, ids, signal) => {
    const answer = await fetch(`${api.address}/v1/changes/stream`, {
      headers: { ...authorization(api), ...(ids.length > 0 && { 'last-event-id': ids.at(-1)! }) },
      signal,
    })
    let text = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const events = (text + chunk).split('\n\n')
      text = events.pop()!
      for (const event of events) ids.push(...(/^id: (\d+)$/m.exec(event)?.slice(1) ?? []))
    }
  },
}

test(
  'readers get every event once and in order, wherever the service is killed',
  { timeout: 300_000 },
  async () => {
    await using opened = new AsyncDisposableStack()
    const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
    const { db } = database
    const folder = opened.use(await makeDataFolder())
    const options = {
      env: {
        DATABASE_URL: url,
        WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
        WAXWING_WEBHOOK_ALLOW: '127.0.0.1/32',
        WAXWING_WEBHOOK_ALLOW_HTTP: 'true',
      },
    }
    let service = await startServiceProcess(folder, options)
    opened.defer(() => service[Symbol.asyncDispose]())
    const api: ApiAccess = { address: service.address, key: service.key }
    const { rows } = await sql<{ id: string }>`select id from tenant`.execute(db)
    const tenantId = rows[0]!.id
    const { endpoint } = await createEndpoint(callerOf(api.address, api.key), 'http://127.0.0.1:9/')

    const readers = Object.entries(READERS).flatMap(([kind, open]) =>
      [0, 1].map(() => ({ kind, read: open(), ids: [] as string[] })),
    )
    const over = new AbortController()
    opened.defer(() => over.abort())
    for (const { read, ids } of readers) {
      void (async () => {
        while (!over.signal.aborted) await read(api, ids, over.signal).catch(() => sleep(RETRY_MILLISECONDS))
      })()
    }
    const random = seeded('kills')
    for (let kill = 0; kill < KILLS; kill++) {
      const killedAfter = random.between(1, 25)
      for (let nth = 0; nth < 30; nth++) {
        await Promise.all([
          happen({ db, tenantId }, random.between(1, 3)),
          callerOf(api.address, api.key)
            .post(`/v1/webhooks/${endpoint.id}/test`, {})
            .catch(() => null),
        ])
        if (nth === killedAfter) service.kill('SIGKILL')
      }
      await service.ended
      service = await startServiceProcess(folder, options)
      api.address = service.address
    }
    const [last = ''] = await happen({ db, tenantId })
    await waitUntil('every reader', async () => readers.every(({ ids }) => ids.includes(last)))
    const { rows: events } = await sql<{ id: string }>`
      select id::text as id from event where tenant_id = ${tenantId} order by event.id
    `.execute(db)
    const all = events.map(({ id }) => id)
    expect(all.length).toBeGreaterThan(KILLS * 30)
    for (const { kind, ids } of readers) expect({ kind, ids }).toEqual({ kind, ids: all })
  },
)
