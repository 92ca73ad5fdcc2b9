/** What the OpenAPI document says beside the contract. */

/** Paragraphs, where only code between backticks is marked. */
export const DESCRIPTION = `Mail of any mailbox over one interface.

Every path begins with \`/v1\`. Bodies and answers are JSON, downloads aside. Timestamps are ISO 8601 in UTC, ids are \
UUIDs where nothing else is said. Present a credential as \`Authorization: Bearer …\`: an API key (\`wk_…\`), or an \
account token (\`wat_…\`), which reaches one account only. Each operation names the scope that it needs: \`read\`, \
\`write\`, \`send\` or \`admin\`.

Lists come in pages: pass \`nextCursor\` as \`cursor\`, until it is null. Fields, event types and error codes may be \
added to answers at any time; what is there stays as it is.`

export const HEADERS = {
  'X-Request-Id': {
    description:
      'Names the request in logs. One that the caller sends (1 to 128 of A-Z a-z 0-9 . _ : -) is kept.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'After how many seconds the request may be sent again.',
    schema: { type: 'integer' },
  },
  'RateLimit-Limit': {
    description:
      'Requests in a minute, where the plan sets a rate: of the tenant or the credential, whichever has less left.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': { description: 'Requests left in this minute.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the next minute.', schema: { type: 'integer' } },
  'Idempotent-Replayed': {
    description: '`true` where the answer is that of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
}

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a repetition harmless: the first answer is kept for 24 hours and sent again with `Idempotent-Replayed: true`. ' +
    'Answers with 5xx or 429 are not kept, so a repetition runs again.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
}

export const ERROR = {
  type: 'object',
  properties: {
    defined: { type: 'boolean', description: 'True for the declared reasons.' },
    code: { type: 'string', description: 'The reason. New ones may appear.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    message: { type: 'string', description: 'For people; not to be parsed.' },
    data: { type: 'object', description: 'Only for the reasons that have it.' },
  },
  required: ['defined', 'code', 'status', 'message'],
}
