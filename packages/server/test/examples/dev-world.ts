import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Waxwing } from '../../../sdk/src/index.ts'
import { compileCache } from '../compile-cache.ts'
import { guardProcess } from '../guard/guard.ts'
import { findFreePorts } from '../servers/daemon.ts'
import { waitUntil } from '../wait-until.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const GOOGLE = ['gmail.modify', 'gmail.settings.basic', 'calendar', 'contacts']
const MICROSOFT = [
  'offline_access',
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
  'Calendars.ReadWrite',
  'MailboxSettings.Read',
  'Contacts.ReadWrite',
]

/** Longer than the command itself waits. */
const START_SECONDS_MAX = 280

/** The service and the sandbox, as `npm run dev` starts them. Disposing it ends both. */
export interface DevWorld extends AsyncDisposable {
  /** The variables that its output asks the reader to export. */
  environment: { WAXWING_URL: string; WAXWING_KEY: string; SANDBOX_URL: string }
  /** Connects a mailbox of the sandbox with its contacts and calendars, and waits until all of it is indexed. */
  connect(mailbox: Mailbox): Promise<string>
}

export interface Mailbox {
  email: string
  provider: 'google' | 'microsoft'
}

export async function startDevWorld(): Promise<DevWorld> {
  const [port = 0] = await findFreePorts(1)
  const dev = spawn(process.execPath, ['scripts/dev.ts', '--port', String(port), '--sandbox-port', '0'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...compileCache() },
  })
  guardProcess(dev, 'SIGTERM')
  const ended = once(dev, 'exit')
  let output = ''
  for (const stream of [dev.stdout, dev.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  const stop = async () => {
    dev.kill('SIGTERM')
    await ended
  }
  try {
    const isReady = async () => output.includes('Ctrl-C ends both') || dev.exitCode !== null
    await waitUntil('`npm run dev` to be ready', isReady, START_SECONDS_MAX)
    const exported = (name: string) => {
      const value = new RegExp(`export ${name}=(\\S+)`).exec(output)?.[1]
      if (value === undefined) throw new Error(`No ${name} in the output:\n${output}`)
      return value
    }
    const environment = {
      WAXWING_URL: exported('WAXWING_URL'),
      WAXWING_KEY: exported('WAXWING_KEY'),
      SANDBOX_URL: exported('SANDBOX_URL'),
    }
    const waxwing = new Waxwing({ baseUrl: environment.WAXWING_URL, key: environment.WAXWING_KEY })
    return {
      environment,
      async connect({ email, provider }) {
        const refreshToken = await grant(environment.SANDBOX_URL, email, provider)
        const settings = { contactsEnabled: true, calendarEnabled: true }
        const { id } = await waxwing.accounts.connect({ provider, refreshToken, settings })
        const isIndexed = async () => {
          const account = await waxwing.accounts.get({ accountId: id })
          return [account.initializedAt, account.calendarInitializedAt, account.contactsInitializedAt].every(
            time => time !== null,
          )
        }
        await waitUntil(`the index of ${email}`, isIndexed)
        return id
      },
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A refresh token, as if the user had consented. */
async function grant(sandboxUrl: string, user: string, provider: Mailbox['provider']): Promise<string> {
  const google = GOOGLE.map(name => `https://www.googleapis.com/auth/${name}`)
  const scopes = ['openid', 'email', 'profile', ...(provider === 'google' ? google : MICROSOFT)]
  const response = await fetch(`${sandboxUrl}/grants`, {
    method: 'POST',
    body: JSON.stringify({ user, clientId: 'sandbox', scopes }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`No grant for ${user}: ${text}`)
  return (JSON.parse(text) as { refreshToken: string }).refreshToken
}
