import { XMLParser } from 'fast-xml-parser'
import { z } from 'zod'
import { parseHost } from '../../kit/egress/host.ts'
import type { MailServer } from '../mail-server.ts'

/** Servers of an address in order of preference. Nothing about them has been checked yet. */
export interface ServerCandidates {
  imap: MailServer[]
  smtp: MailServer[]
}

const NESTED_TAGS_MAX = 16
const SERVERS_MAX = 8
const USER_CHARACTERS_MAX = 320

const SECURITY = { ssl: 'tls', starttls: 'starttls', plain: 'none' } as const
/** Names of password logins, as old and new files spell them, and of a login with an OAuth grant. */
const USABLE_LOGINS = new Set(['password-cleartext', 'plain', 'password-encrypted', 'secure', 'oauth2'])

const server = z.object({
  '@type': z.string(),
  hostname: z.string(),
  port: z.string().regex(/^\d{1,5}$/),
  socketType: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['ssl', 'starttls', 'plain'])),
  username: z.string().optional(),
  authentication: z.array(z.string()).default([]),
})
type ServerElement = z.infer<typeof server>

const document = z.object({
  clientConfig: z.object({
    emailProvider: z.array(
      z.object({
        incomingServer: z.array(z.unknown()).default([]),
        outgoingServer: z.array(z.unknown()).default([]),
      }),
    ),
  }),
})

const REPEATED = new Set(['emailProvider', 'incomingServer', 'outgoingServer', 'authentication'])

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: NESTED_TAGS_MAX,
  isArray: name => REPEATED.has(name),
})

/**
 * The servers that a file in Thunderbird's format names for an address
 * (https://wiki.mozilla.org/Thunderbird:Autoconfiguration:ConfigFileFormat). Null if it is not such a file, or if it
 * has a document type declaration: the format needs none, and entities come from there.
 */
export function readClientConfig(xml: string, email: string): ServerCandidates | null {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) return null
  const parsed = document.safeParse(parseXml(xml))
  if (!parsed.success) return null
  const [provider] = parsed.data.clientConfig.emailProvider
  const read = (elements: unknown[] = [], type: string) =>
    elements
      .slice(0, SERVERS_MAX)
      .map(element => server.safeParse(element).data)
      .filter(found => found?.['@type'].toLowerCase() === type)
      .map(found => found && readServer(found, email))
      .filter(found => found !== null && found !== undefined)
  return { imap: read(provider?.incomingServer, 'imap'), smtp: read(provider?.outgoingServer, 'smtp') }
}

function parseXml(xml: string): unknown {
  try {
    return parser.parse(xml)
  } catch {
    return null
  }
}

function readServer(element: ServerElement, email: string): MailServer | null {
  const logins = element.authentication
  if (logins.length > 0 && !logins.some(login => USABLE_LOGINS.has(login.toLowerCase()))) return null
  const host = parseHost(fillPlaceholders(element.hostname, email))
  const port = Number(element.port)
  const user = fillPlaceholders(element.username ?? '%EMAILADDRESS%', email)
  // An entity or an unknown placeholder would be sent to the server literally.
  const isUserUsable =
    user !== '' && user.length <= USER_CHARACTERS_MAX && !/[\p{Cc}&<>]|%[A-Z]+%/u.test(user)
  if (!host || port < 1 || port > 65_535 || !isUserUsable) return null
  return { host: host.name, port, security: SECURITY[element.socketType], user }
}

/** Works in one pass, so that an inserted value is never read as a placeholder. */
function fillPlaceholders(text: string, email: string): string {
  const at = email.lastIndexOf('@')
  const values: Record<string, string> = {
    '%EMAILADDRESS%': email,
    '%EMAILLOCALPART%': email.slice(0, at),
    '%EMAILDOMAIN%': email.slice(at + 1),
  }
  return text.replaceAll(/%(?:EMAILADDRESS|EMAILLOCALPART|EMAILDOMAIN)%/g, name => values[name] ?? name)
}
