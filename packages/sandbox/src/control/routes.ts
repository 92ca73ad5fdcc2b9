import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'

/** An app of routes of the control API. */
export type ControlApp = Hono<{ Bindings: HttpBindings }>
