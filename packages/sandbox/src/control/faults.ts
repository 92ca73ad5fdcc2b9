import { Hono } from 'hono'
import { z } from 'zod'
import { FAULT_KINDS, type Faults } from '../world/faults.ts'
import { parseInput } from '../world/invalid-input.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

const Rule = z.strictObject({
  does: z.enum(FAULT_KINDS),
  host: z.string().optional(),
  method: z.string().optional(),
  path: z.string().optional(),
  probability: z.number().min(0).max(1).optional(),
  count: z.int().min(1).optional(),
  status: z.int().min(400).max(599).optional(),
  retryAfterSeconds: z.int().min(0).optional(),
  milliseconds: z.int().min(0).max(3_600_000).optional(),
})

export function faultRoutes(faults: Faults): ControlApp {
  const app: ControlApp = new Hono()
  app.get('/faults', context => context.json({ items: faults.list() }))
  app.post('/faults', async context => {
    const rule = parseInput(Rule, await readJson(context))
    return context.json(faults.add(rule), 201)
  })
  app.delete('/faults', context => {
    faults.clear()
    return context.body(null, 204)
  })
  app.delete('/faults/:id', context => {
    const isFound = faults.remove(Number(context.req.param('id')))
    return context.body(null, isFound ? 204 : 404)
  })
  return app
}
