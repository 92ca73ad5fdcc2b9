import type { ClientBase } from 'pg'

/** Seconds after which a silent peer is asked for a sign of life. */
export const KEEP_ALIVE_SECONDS = 10

/** By default the server notices after two hours that the machine of a client is lost. Means nothing over a unix socket. */
const LOST_AFTER_HALF_A_MINUTE = {
  tcp_keepalives_idle: KEEP_ALIVE_SECONDS,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 20_000,
}

export interface SessionLimits {
  statementSeconds?: number
  /** How long the server waits for the next statement of a transaction before it ends the session. */
  idleInTransactionSeconds?: number
}

/**
 * Limits for how long a session may hold locks while its process is slow, stopped or gone. They are set by a statement,
 * since a pooler refuses them as parameters of the connection.
 */
export async function limitSession(
  client: Pick<ClientBase, 'query'>,
  limits: SessionLimits = {},
): Promise<void> {
  const { statementSeconds, idleInTransactionSeconds } = limits
  const settings = {
    ...LOST_AFTER_HALF_A_MINUTE,
    ...(statementSeconds !== undefined && { statement_timeout: statementSeconds * 1000 }),
    ...(idleInTransactionSeconds !== undefined && {
      idle_in_transaction_session_timeout: idleInTransactionSeconds * 1000,
    }),
  }
  await client.query(
    Object.entries(settings)
      .map(([name, value]) => `set ${name} = ${Math.ceil(value)}`)
      .join('; '),
  )
}
