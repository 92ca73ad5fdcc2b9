import {
  type Destination,
  EgressRefused,
  type EgressGuard,
  type EgressKind,
  EgressUnresolved,
} from '../kit/egress/guard.ts'
import { ProviderFailure } from './failure.ts'

/**
 * The addresses of a server that the egress guard allows now. Must be called before each connection. Throws
 * `ProviderFailure`: `not_allowed`, or `unavailable` if the name does not resolve.
 */
export async function resolveServer(
  guard: EgressGuard,
  kind: EgressKind,
  server: { host: string; port: number },
): Promise<Destination> {
  try {
    return await guard.resolve({ host: server.host, port: server.port, kind })
  } catch (error) {
    if (error instanceof EgressRefused)
      throw new ProviderFailure('not_allowed', error.message, { cause: error })
    if (error instanceof EgressUnresolved) {
      throw new ProviderFailure('unavailable', 'The name of the server does not resolve.', { cause: error })
    }
    throw error
  }
}
