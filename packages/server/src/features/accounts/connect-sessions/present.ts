import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import { type SessionRow, stateOf } from './store.ts'

export function presentSession(session: SessionRow): ConnectSession {
  return {
    id: session.id,
    status: stateOf(session),
    error: session.error,
    accountId: session.accountId,
    email: session.email,
    mcpKeyId: null,
    mcpKeySkipped: null,
    expiresAt: session.expiresAt.toISOString(),
    createdAt: session.createdAt.toISOString(),
  }
}
