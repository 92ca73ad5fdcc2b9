import type { Call } from '../../world/calls.ts'
import type { Client } from './clients.ts'
import type { Endpoint } from './endpoint.ts'

/** A request to the token endpoint, whose client has proved itself. */
export interface TokenRequest {
  readonly client: Client
  readonly endpoint: Endpoint
  readonly form: URLSearchParams
  readonly call: Call
}
