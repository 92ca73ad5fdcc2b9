import { Hono } from 'hono'
import { z } from 'zod'
import type { CallLog } from '../world/calls.ts'
import { parseInput } from '../world/invalid-input.ts'
import type { ControlApp } from './routes.ts'

const Filter = z.strictObject({
  host: z.string().optional(),
  method: z.string().optional(),
  path: z.string().optional(),
  user: z.string().optional(),
  after: z.coerce.number().int().min(0).optional(),
})

export function callRoutes(calls: CallLog): ControlApp {
  const app: ControlApp = new Hono()
  app.get('/calls', context => {
    const items = calls.list(parseInput(Filter, context.req.query()))
    const units = items.reduce((sum, call) => sum + call.units, 0)
    return context.json({ items, units, forgotten: calls.forgotten })
  })
  app.delete('/calls', context => {
    calls.clear()
    return context.body(null, 204)
  })
  return app
}
