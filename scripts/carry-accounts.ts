// Brings accounts of Nylas or EmailEngine along: connects those whose credentials you have, and makes links for the rest.
// docs/coming-from-nylas.md and docs/coming-from-emailengine.md describe the files that it reads.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type CarriedAccount, type CarryOptions, readExport, SOURCES } from './carried-accounts.ts'

const USAGE = `node scripts/carry-accounts.ts emailengine|nylas FILE [--connect] [--links]
  --connect            connect the accounts; without it, they are only listed
  --links              make a link for each account whose user has to sign in again
  --google-apps IDS    ids of EmailEngine's OAuth2 apps at Google, comma-separated (default: gmail)
  --microsoft-apps IDS the same for apps that use Microsoft Graph (default: none)
WAXWING_URL (default: http://127.0.0.1:8025) and WAXWING_KEY name the service and a key with the scopes read and write.`

const TRIES_MAX = 5
const WAIT_SECONDS_MAX = 60

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connect: { type: 'boolean', default: false },
    links: { type: 'boolean', default: false },
    'google-apps': { type: 'string', default: 'gmail' },
    'microsoft-apps': { type: 'string', default: '' },
  },
})
const [source, file] = positionals
if (source === undefined || !(source in SOURCES) || file === undefined) {
  console.error(USAGE)
  process.exit(2)
}
const base = (process.env['WAXWING_URL'] ?? 'http://127.0.0.1:8025').replace(/\/+$/, '')
const key = process.env['WAXWING_KEY'] ?? ''

interface Answer {
  id?: string
  url?: string
  code?: string
  message?: string
}

/** Posts, and waits while the service or a provider asks to slow down. */
async function post(path: string, body: object): Promise<{ status: number; answer: Answer }> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // A proxy may answer with a page of its own.
    const answer = (await response.json().catch(() => ({}))) as Answer
    const { status } = response
    if ((status !== 429 && status !== 503) || tries === TRIES_MAX) return { status, answer }
    const seconds = Math.min(Number(response.headers.get('retry-after')) || 5, WAIT_SECONDS_MAX)
    await sleep(seconds * 1000)
  }
}

/** Whether a refusal is about the key, the plan or the moment, so that signing in again would not help. */
const isBeyondSignIn = (status: number) => [401, 402, 403, 429].includes(status) || status >= 500

const describeRefusal = (status: number, { code, message }: Answer) =>
  code === undefined ? `The service answered with ${status}.` : `${code}: ${message}`

/** @returns the line to print, without credentials */
async function carry({ externalRef, email, request, reason }: CarriedAccount): Promise<object> {
  const line = { externalRef, email }
  if (request && !values.connect) return { ...line, outcome: 'can_be_connected', path: request.path }
  if (request) {
    const { status, answer } = await post(request.path, request.body)
    if (status === 200) return { ...line, outcome: 'connected', accountId: answer.id }
    if (answer.code === 'account_exists') return { ...line, outcome: 'exists' }
    const refusal = describeRefusal(status, answer)
    return isBeyondSignIn(status) ? { ...line, outcome: 'failed', reason: refusal } : link(line, refusal)
  }
  return link(line, reason)
}

/** A link by which the user signs in again. */
async function link(line: { externalRef: string; email: string | null }, reason: string): Promise<object> {
  if (!values.links) return { ...line, outcome: 'must_sign_in', reason }
  const { externalRef, email } = line
  const { status, answer } = await post('/v1/connect-sessions', {
    externalRef,
    ...(email !== null && { loginHint: email }),
    ttlSeconds: 86_400,
  })
  if (status === 200) return { ...line, outcome: 'link', reason, url: answer.url }
  return { ...line, outcome: 'failed', reason: describeRefusal(status, answer) }
}

const listed = (ids: string) => new Set(ids.split(',').filter(id => id !== ''))
const options: CarryOptions = {
  googleApps: listed(values['google-apps']),
  microsoftApps: listed(values['microsoft-apps']),
}
const carryEntry = SOURCES[source as keyof typeof SOURCES]
// All entries are read before the first account is connected, so that a broken file changes nothing.
const accounts = readExport(readFileSync(file, 'utf8')).map(entry => carryEntry(entry, options))
for (const account of accounts) console.log(JSON.stringify(await carry(account)))
