/** The parts of the OpenAPI document that are not in the contract. */

/** Paragraphs of plain text; only code between backticks is marked up. */
export const DESCRIPTION = `One API for the mail of any mailbox.

Every path begins with \`/v1\`. Request bodies and answers are JSON, except for downloads. Timestamps are ISO 8601 in UTC, ids are \
UUIDs unless stated otherwise. Present a credential as \`Authorization: Bearer …\`: an API key (\`wk_…\`), or an \
account token (\`wat_…\`), which reaches one account only. Each operation states the scope it needs: \`read\`, \
\`write\`, \`send\` or \`admin\`.

Lists come in pages: pass \`nextCursor\` as \`cursor\` until it is null. Fields, event types and error codes may be \
added at any time; existing ones do not change.`

export const HEADERS = {
  'X-Request-Id': {
    description:
      'Identifies the request in logs. A value sent by the caller (1 to 128 characters of A-Z a-z 0-9 . _ : -) is kept.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds until the request may be sent again.',
    schema: { type: 'integer' },
  },
  'RateLimit-Limit': {
    description:
      'Requests allowed per minute, if the plan sets a rate: the limit of the tenant or of the credential, whichever has fewer requests left.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': { description: 'Requests left in this minute.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the next minute.', schema: { type: 'integer' } },
  'Idempotent-Replayed': {
    description: '`true` if this is the answer of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  ETag: {
    description:
      'Names the content of a draft. Send it as `If-Match` to change the draft only if it still has that content.',
    schema: { type: 'string' },
  },
}

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes it safe to repeat a request: the first answer is kept for 24 hours and sent again with `Idempotent-Replayed: true`. ' +
    'Answers with status 5xx or 429 are not kept, so a repeated request runs again.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
}

export const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'An `ETag` that the draft was answered with. If the draft has other content by now, also because another client ' +
    'changed it, the answer is `provider_conflict`. Without it, the last writer wins.',
  schema: { type: 'string' },
}

export const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The `id` of the last event that was received. The stream goes on after it.',
  schema: { $ref: '#/components/schemas/EventId' },
}

export const ERROR = {
  type: 'object',
  properties: {
    defined: { type: 'boolean', description: 'True if `code` is a reason that this API declares.' },
    code: { type: 'string', description: 'The reason. New reasons may be added.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    message: { type: 'string', description: 'For people; do not parse it.' },
    data: { type: 'object', description: 'Only for reasons that have data.' },
  },
  required: ['defined', 'code', 'status', 'message'],
}
