/** An account of another service, and how it is connected here. */
export interface CarriedAccount {
  /** Its id there. */
  externalRef: string
  email: string | null
  /** Null: its credentials cannot be carried. */
  request: { path: '/v1/accounts' | '/v1/imap-accounts'; body: object } | null
  /** The reason why its user has to sign in, where there is no request. */
  reason: string
}

/** Ids of OAuth2 apps of EmailEngine, by their provider. */
export interface CarryOptions {
  googleApps: ReadonlySet<string>
  microsoftApps: ReadonlySet<string>
}

type Entry = Readonly<Record<string, unknown>>

/** Reads a list as JSON, alone or as `data` or `accounts` of an object, or an object on each line. */
export function readExport(text: string): Entry[] {
  const trimmed = text.trim()
  if (trimmed === '') return []
  let whole: unknown
  try {
    whole = JSON.parse(trimmed)
  } catch {
    return text
      .split(/\r?\n/)
      .flatMap((line, index) =>
        line.trim() === '' ? [] : [entryOf(parse(line.trim(), `Line ${index + 1}`))],
      )
  }
  if (Array.isArray(whole)) return whole.map(entryOf)
  const { data, accounts } = entryOf(whole)
  const list = data ?? accounts
  return Array.isArray(list) ? list.map(entryOf) : [entryOf(whole)]
}

/** The value as an object; fields of EmailEngine's rows are objects as JSON. */
function entryOf(value: unknown): Entry {
  if (typeof value === 'object' && value !== null) return value as Entry
  if (typeof value !== 'string' || !value.startsWith('{')) return {}
  return entryOf(parse(value, 'A field'))
}

/** The error of JSON.parse quotes the text, which may have a credential. */
function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(
      `${name} of the file is no JSON. The text is not shown, because it may have a credential.`,
    )
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const portOf = (value: unknown): number | null => (Number(value) > 0 ? Number(value) : null)
const isAddress = (text: string | null): text is string => text !== null && /^[^@\s]+@[^@\s]+$/.test(text)

/** An account of Nylas: its grant, with what you hold of its credentials, as `POST /v3/connect/custom` takes them. */
function carryNylas(entry: Entry): CarriedAccount {
  const settings = entryOf(entry['settings'])
  const provider = textOf(entry['provider'])
  const refreshToken = textOf(settings['refresh_token']) ?? textOf(entry['refresh_token'])
  const user = textOf(settings['imap_username']) ?? textOf(settings['username'])
  const email = textOf(entry['email']) ?? (isAddress(user) ? user : null)
  const account = { externalRef: textOf(entry['id']) ?? textOf(entry['grant_id']) ?? email ?? '', email }
  if (provider === 'google' || provider === 'microsoft') {
    if (refreshToken === null) return signIn(account, 'The refresh token is not in the file.')
    return byToken(account, provider, refreshToken)
  }
  if (provider !== 'imap' && provider !== 'icloud' && provider !== 'yahoo')
    return signIn(account, `There is no counterpart of the provider ${provider}.`)
  const password = textOf(settings['imap_password']) ?? textOf(settings['password'])
  if (password === null || email === null) return signIn(account, 'The password is not in the file.')
  const server = (kind: 'imap' | 'smtp') => {
    const [host, port] = [textOf(settings[`${kind}_host`]), portOf(settings[`${kind}_port`])]
    return host === null || port === null ? {} : { [kind]: { host, port, ...(user !== null && { user }) } }
  }
  return byPassword(account, { email, password, ...server('imap'), ...server('smtp') })
}

/** An account of EmailEngine: the fields of its row in Redis, decrypted. */
function carryEmailEngine(entry: Entry, { googleApps, microsoftApps }: CarryOptions): CarriedAccount {
  const [imap, smtp, oauth2] = [entryOf(entry['imap']), entryOf(entry['smtp']), entryOf(entry['oauth2'])]
  const [auth, smtpAuth] = [entryOf(imap['auth']), entryOf(smtp['auth'])]
  const user = textOf(auth['user']) ?? textOf(entryOf(oauth2['auth'])['user'])
  const given = textOf(entry['email'])
  const email = given ?? (isAddress(user) ? user : null)
  const account = { externalRef: textOf(entry['account']) ?? email ?? '', email }
  if (entryOf(oauth2['auth'])['delegatedUser'] ?? entryOf(oauth2['auth'])['delegatedAccount'])
    return signIn(account, 'It is a shared mailbox: connect its member, and add it below that account.')
  const app = textOf(oauth2['provider'])
  if (app !== null) {
    const provider = googleApps.has(app) ? 'google' : microsoftApps.has(app) ? 'microsoft' : null
    if (provider === null)
      return signIn(account, `The OAuth2 app ${app} is not among --google-apps and --microsoft-apps.`)
    const token = textOf(oauth2['refreshToken'])
    if (token === null) return signIn(account, 'The refresh token is not in the file.')
    return isSealed(token) ? signIn(account, SEALED) : byToken(account, provider, token)
  }
  const password = textOf(auth['pass'])
  if (password === null || email === null) return signIn(account, 'The password is not in the file.')
  const smtpPassword = textOf(smtpAuth['pass'])
  if (isSealed(password) || (smtpPassword !== null && isSealed(smtpPassword))) return signIn(account, SEALED)
  const displayName = textOf(entry['name'])
  const smtpServer = serverOf(smtp)
  return byPassword(account, {
    email,
    password,
    ...(displayName !== null && { displayName }),
    ...(smtpPassword !== null && smtpPassword !== password && { smtpPassword }),
    ...(serverOf(imap) && { imap: serverOf(imap) }),
    smtp: smtpServer,
  })
}

const SEALED = 'Its credentials are still encrypted: decrypt a copy of the database first.'
const isSealed = (text: string): boolean => text.startsWith('$wd01$')

/** A server of EmailEngine. Without `secure`, TLS begins by STARTTLS, which is required here. */
function serverOf(server: Entry): object | null {
  const [host, port] = [textOf(server['host']), portOf(server['port'])]
  if (host === null || port === null) return null
  const user = textOf(entryOf(server['auth'])['user'])
  const security = server['secure'] === true ? 'tls' : 'starttls'
  return { host, port, security, ...(user !== null && { user }) }
}

type Named = Pick<CarriedAccount, 'externalRef' | 'email'>

const signIn = (account: Named, reason: string): CarriedAccount => ({ ...account, request: null, reason })

const byToken = (account: Named, provider: 'google' | 'microsoft', refreshToken: string): CarriedAccount => ({
  ...account,
  request: {
    path: '/v1/accounts',
    body: { provider, refreshToken, externalRef: account.externalRef },
  },
  reason: '',
})

const byPassword = (account: Named, body: object): CarriedAccount => ({
  ...account,
  request: { path: '/v1/imap-accounts', body: { ...body, externalRef: account.externalRef } },
  reason: '',
})

export const SOURCES = { nylas: carryNylas, emailengine: carryEmailEngine }
