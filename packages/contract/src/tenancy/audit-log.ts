import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  cursor,
  pageLimit,
  pageOf,
  queryText,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'

/** Actors of changes. `invitee` uses a public booking page, `operator` the command line. */
export const ACTOR_TYPES = [
  'user',
  'apiKey',
  'accountToken',
  'connectSession',
  'mcpKey',
  'invitee',
  'operator',
] as const
export type ActorType = (typeof ACTOR_TYPES)[number]

/** The surfaces of the service through which a change can come. */
export const SURFACES = ['v1', 'console', 'mcp', 'hosted', 'cli'] as const
export type Surface = (typeof SURFACES)[number]

export const auditEntry = z
  .object({
    id: uuid,
    createdAt: timestamp.describe('When the request came in.'),
    actor: z.object({
      type: z.enum(ACTOR_TYPES),
      id: uuid.nullable().describe('Null for an operator.'),
      label: z
        .string()
        .nullable()
        .describe('The name of the key or user at that time; for an account token that of its key.'),
    }),
    action: z.string().describe('The resource and a verb, such as `account.create`.'),
    surface: z.enum(SURFACES).describe('`v1` is this interface, `cli` the operator’s command line.'),
    targets: z
      .record(z.string(), z.string())
      .describe('Ids of what was named in the path, and of what was made, such as `accountId`.'),
    ip: z
      .string()
      .nullable()
      .describe('The address of the client, behind the proxies that the operator trusts.'),
    userAgent: z.string().nullable().describe('The first 512 characters of the header `User-Agent`.'),
    status: z.int().describe('The HTTP status of the answer; 200 for a command.'),
    errorReason: z.string().nullable().describe('`code` of the answer; null on success.'),
    requestId: z.string().describe('The `X-Request-Id` of the answer.'),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof auditEntry>

export const auditLog = {
  list: operation({
    method: 'GET',
    path: '/v1/audit-log',
    scope: 'admin',
    summary: 'List who changed what, newest first.',
    description:
      'Every request that may change something has one entry, whatever it was answered, unless its credential or ' +
      'rate limit refused it. Reads, answers with status 401, 429 or 503, and repeated answers of an ' +
      '`Idempotency-Key` have none. Entries are kept for 400 days. Filters are combined with AND.',
    refuses: ['invalid_cursor', 'invalid_range'],
    query: z.strictObject({
      actorType: z.enum(ACTOR_TYPES).optional().describe('Only entries of actors of this type.'),
      actorId: uuidInput.optional().describe('Only entries of this key, user or session.'),
      action: queryText(1, 100)
        .optional()
        .describe('The whole action, or its resource with the dot: `account.` finds `account.create`.'),
      accountId: uuidInput.optional().describe('Only entries with this account among their `targets`.'),
      outcome: z
        .enum(['success', 'failure'])
        .optional()
        .describe('Whether the answer had a status from 200 to 299.'),
      from: timestampInput.optional().describe('Only entries from this time on.'),
      to: timestampInput.optional().describe('Only entries before this time.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(auditEntry),
  }),
}
