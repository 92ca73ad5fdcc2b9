import { Hono } from 'hono'
import { z } from 'zod'
import type { Clock } from '../world/clock.ts'
import { parseInput } from '../world/invalid-input.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

const Turn = z.union([
  z.strictObject({ now: z.iso.datetime({ offset: true }) }),
  z.strictObject({ advanceSeconds: z.number() }),
])

export function clockRoutes(clock: Clock): ControlApp {
  const app: ControlApp = new Hono()
  app.post('/clock', async context => {
    const turn = parseInput(Turn, await readJson(context))
    clock.turn('now' in turn ? Date.parse(turn.now) - clock.now() : turn.advanceSeconds * 1000)
    return context.json({ now: new Date(clock.now()).toISOString() })
  })
  return app
}
