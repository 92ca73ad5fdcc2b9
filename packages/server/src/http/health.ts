import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import type { App } from './app.ts'

/** Serves the operator, on a port apart from the public one: `/metrics` and the health checks. */
export function createMetricsApp(options: {
  metrics: Registry
  findProblems: () => Promise<string[]>
  /** Null if the database does not reveal it. */
  installationId: string | null
  /**
   * Counts the accounts of the whole installation that are in trouble. Null in a process that does not follow accounts.
   */
  findTroubles: (() => Promise<object | null>) | null
}): App {
  const { metrics, findProblems, installationId, findTroubles } = options
  const app: App = new Hono()
  app.get('/metrics', async context =>
    context.body(await metrics.metrics(), 200, { 'content-type': metrics.contentType }),
  )
  // The doctor uses it to recognise the service of another installation.
  app.get('/installation', context => context.json({ id: installationId }))
  app.get('/health/live', context => context.json({ status: 'ok' }))
  app.get('/health/ready', async context => {
    const [problems, accounts] = await Promise.all([findProblems(), findTroubles?.()])
    // Accounts in trouble do not make the process unhealthy.
    const details = accounts ? { accounts } : {}
    return problems.length === 0
      ? context.json({ status: 'ok', ...details })
      : context.json({ status: 'unavailable', problems, ...details }, 503)
  })
  return app
}
