import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Call } from '../world/calls.ts'

/** The value of `context.env`: the row of the call log, which handlers fill in. */
export interface HostEnv {
  Bindings: Partial<HttpBindings> & { call: Call }
}

export type HostApp = Hono<HostEnv>
