import type { SecureContext } from 'node:tls'
import type { EgressGuard } from '../kit/egress/guard.ts'

export interface CheckOptions {
  guard: EgressGuard
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
  /** The name in EHLO to SMTP servers. */
  clientName: string
}
