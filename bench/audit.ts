import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer } from '../packages/server/test/servers/mail-server.ts'
import { short } from './figures.ts'
import { openPatch } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 200
const WITHOUT_ROWS = new URL('without-audit.mjs', import.meta.url).href

export const audit: Benchmark = {
  name: 'audit',
  about:
    'PATCH of isRead over HTTP with its row in the audit log, compared with a service that writes no rows, in turn.',
  async run(report) {
    await using server = await startDovecot()
    await using withRows = await openMarking(server, {})
    await using withoutRows = await openMarking(server, { NODE_OPTIONS: `--import ${WITHOUT_ROWS}` })
    const figures = await compareLoad(1, { without: withoutRows.mark, with: withRows.mark })
    if ((await withRows.countRows()) === 0 || (await withoutRows.countRows()) > 0)
      throw new Error('The services do not differ in what they write')
    report({
      measure: 'PATCH isRead with its row, p50 in ms',
      result: short(figures.with.p50Ms),
      yardstick: `without ${short(figures.without.p50Ms)}`,
      ratio: figures.with.p50Ms / figures.without.p50Ms,
      target: '≤ 1.1',
      cpu: figures.with.cpu,
    })
  },
}

/** A service whose only account marks one message after the other. */
async function openMarking(server: MailServer, env: Record<string, string>) {
  await using opened = new AsyncDisposableStack()
  const user = await makeFullMailbox(server, MESSAGES)
  const service = opened.use(await startBenchService({ env }))
  const accountId = await service.connect(server, user)
  await service.untilInitialized(accountId)
  const path = `/v1/accounts/${accountId}/messages`
  const { body } = await service.get<{ items: Array<{ id: string }> }>(`${path}?limit=${MESSAGES}`)
  const client = opened.use(openPatch(service))
  let patches = 0
  const owned = opened.move()
  return {
    mark() {
      const { id } = body.items[patches % MESSAGES]!
      return client.patch(`${path}/${id}`, { isRead: Math.floor(patches++ / MESSAGES) % 2 === 0 })
    },
    async countRows(): Promise<number> {
      const { body: page } = await service.get<{ items: unknown[] }>('/v1/audit-log?action=message.update')
      return page.items.length
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
