import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Call } from '../world/calls.ts'

/** What a handler finds in `context.env`: the row of the call log, to fill in. */
export interface HostEnv {
  Bindings: Partial<HttpBindings> & { call: Call }
}

export type HostApp = Hono<HostEnv>
