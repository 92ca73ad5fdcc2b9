import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import type { App } from './app.ts'

/** The operator's own door, apart from the public one: `/metrics` and the health checks. */
export function createMetricsApp(options: {
  metrics: Registry
  findProblems: () => Promise<string[]>
  /** Null where the database does not tell it. */
  installationId: string | null
  /** Accounts of the whole installation that are not well; null in a process that does not follow any. */
  findTroubles: (() => Promise<object | null>) | null
}): App {
  const { metrics, findProblems, installationId, findTroubles } = options
  const app: App = new Hono()
  app.get('/metrics', async context =>
    context.body(await metrics.metrics(), 200, { 'content-type': metrics.contentType }),
  )
  // For the doctor, to tell this service from that of another installation.
  app.get('/installation', context => context.json({ id: installationId }))
  app.get('/health/live', context => context.json({ status: 'ok' }))
  app.get('/health/ready', async context => {
    const [problems, accounts] = await Promise.all([findProblems(), findTroubles?.()])
    // Accounts in trouble take no process out of service.
    const details = accounts ? { accounts } : {}
    return problems.length === 0
      ? context.json({ status: 'ok', ...details })
      : context.json({ status: 'unavailable', problems, ...details }, 503)
  })
  return app
}
