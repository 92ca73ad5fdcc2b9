import { DatabaseError } from 'pg'

/** insufficient_privilege, undefined_function, feature_not_supported */
const CODES = new Set(['42501', '42883', '0A000'])

/**
 * Whether a statement failed because its role may not ask that, or because this server does not support it. Hosted
 * PostgreSQL differs.
 */
export function isWithheld(error: unknown): boolean {
  return error instanceof DatabaseError && CODES.has(error.code ?? '')
}
