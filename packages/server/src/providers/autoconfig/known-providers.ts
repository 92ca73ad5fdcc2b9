import type { MailServer } from '../mail-server.ts'

type Server = Omit<MailServer, 'user'>

/** A large provider. */
export interface KnownProvider {
  /** Domains of addresses. */
  domains: readonly string[]
  /** Domains of the MX hosts with which it serves domains of others. */
  mailHosts: readonly string[]
  imap: Server
  smtp: Server
  /** Servers at which users of `domains` log in with the part before the @; at the others with the whole address. */
  localUsers: ReadonlyArray<'imap' | 'smtp'>
  oauth: 'google' | 'microsoft' | null
  dav: { calendarUrl: string | null; contactsUrl: string | null } | null
}

const tls = (host: string, port: number): Server => ({ host, port, security: 'tls' })
const starttls = (host: string): Server => ({ host, port: 587, security: 'starttls' })

function provider(
  domains: string,
  imapHost: string,
  smtp: Server | string,
  more: {
    mailHosts?: string
    localUsers?: Array<'imap' | 'smtp'>
    oauth?: 'google' | 'microsoft'
    dav?: [calendar: string, contacts: string]
  } = {},
): KnownProvider {
  const [calendarUrl, contactsUrl] = more.dav ?? []
  return {
    domains: domains.split(' ').filter(Boolean),
    mailHosts: more.mailHosts?.split(' ') ?? [],
    imap: tls(imapHost, 993),
    smtp: typeof smtp === 'string' ? tls(smtp, 465) : smtp,
    localUsers: more.localUsers ?? [],
    oauth: more.oauth ?? null,
    dav: calendarUrl && contactsUrl ? { calendarUrl, contactsUrl } : null,
  }
}

const under = (name: string, endings: string) =>
  endings
    .split(' ')
    .map(ending => `${name}.${ending}`)
    .join(' ')

const OUTLOOK_DOMAINS = [
  'msn.com windowslive.com livemail.tw',
  under(
    'outlook',
    'com at be cl cz de dk es fr hu ie in it jp kr lv my ph pt sa sg sk co.id co.il co.th com.ar com.au com.br com.gr ' +
      'com.tr com.vn',
  ),
  under(
    'hotmail',
    'com be ca cl cz de dk es fi fr gr hu it lt lv my nl no ph rs se sg sk co.id co.il co.in co.jp co.kr co.th co.uk ' +
      'co.za com.ar com.au com.br com.hk com.tr com.tw com.vn',
  ),
  under(
    'live',
    'com at be ca cl cn de dk fi fr hk ie in it jp nl no ru se co.jp co.kr co.uk co.za com.ar com.au com.mx com.my ' +
      'com.ph com.pt com.sg',
  ),
].join(' ')

const YAHOO_DOMAINS = [
  'ymail.com rocketmail.com',
  under('yahoo', 'com ca de es fr it se co.in co.nz co.uk com.ar com.au com.br com.mx'),
].join(' ')

const PROVIDERS: readonly KnownProvider[] = [
  provider('gmail.com googlemail.com', 'imap.gmail.com', 'smtp.gmail.com', {
    mailHosts: 'google.com googlemail.com',
    oauth: 'google',
  }),
  provider(OUTLOOK_DOMAINS, 'outlook.office365.com', starttls('smtp-mail.outlook.com'), {
    oauth: 'microsoft',
  }),
  provider('', 'outlook.office365.com', starttls('smtp.office365.com'), {
    mailHosts: 'mail.protection.outlook.com mx.microsoft',
    oauth: 'microsoft',
  }),
  provider('icloud.com me.com mac.com', 'imap.mail.me.com', starttls('smtp.mail.me.com'), {
    mailHosts: 'mail.icloud.com',
    localUsers: ['imap'],
    dav: ['https://caldav.icloud.com/', 'https://contacts.icloud.com/'],
  }),
  provider(YAHOO_DOMAINS, 'imap.mail.yahoo.com', 'smtp.mail.yahoo.com', { mailHosts: 'yahoodns.net' }),
  provider('aol.com aim.com', 'imap.aol.com', 'smtp.aol.com'),
  provider('fastmail.com fastmail.fm', 'imap.fastmail.com', 'smtp.fastmail.com', {
    mailHosts: 'messagingengine.com',
    dav: ['https://caldav.fastmail.com/', 'https://carddav.fastmail.com/'],
  }),
  provider('zoho.com zohomail.com', 'imap.zoho.com', 'smtp.zoho.com'),
  provider('zoho.eu zohomail.eu', 'imap.zoho.eu', 'smtp.zoho.eu'),
  provider('', 'imappro.zoho.com', 'smtppro.zoho.com', { mailHosts: 'zoho.com' }),
  provider('', 'imappro.zoho.eu', 'smtppro.zoho.eu', { mailHosts: 'zoho.eu' }),
  provider('gmx.de gmx.net gmx.at gmx.ch', 'imap.gmx.net', 'mail.gmx.net'),
  provider('gmx.com gmx.us gmx.co.uk', 'imap.gmx.com', 'mail.gmx.com'),
  provider('web.de', 'imap.web.de', starttls('smtp.web.de'), { localUsers: ['imap', 'smtp'] }),
  provider('mail.com email.com usa.com', 'imap.mail.com', starttls('smtp.mail.com')),
  provider('t-online.de', 'secureimap.t-online.de', 'securesmtp.t-online.de'),
  provider('freenet.de', 'mx.freenet.de', starttls('mx.freenet.de')),
  provider('posteo.de posteo.net', 'posteo.de', 'posteo.de', { mailHosts: 'posteo.de' }),
  provider('mailbox.org', 'imap.mailbox.org', 'smtp.mailbox.org', {
    mailHosts: 'mailbox.org',
    dav: ['https://dav.mailbox.org/', 'https://dav.mailbox.org/'],
  }),
  provider('yandex.ru yandex.com ya.ru yandex.by yandex.kz', 'imap.yandex.com', 'smtp.yandex.com', {
    mailHosts: 'yandex.net yandex.ru',
  }),
  provider('mail.ru bk.ru inbox.ru list.ru internet.ru', 'imap.mail.ru', 'smtp.mail.ru', {
    mailHosts: 'mail.ru',
  }),
  provider('qq.com foxmail.com', 'imap.qq.com', 'smtp.qq.com'),
  provider('163.com', 'imap.163.com', 'smtp.163.com'),
  provider('126.com', 'imap.126.com', 'smtp.126.com'),
  provider('orange.fr wanadoo.fr', 'imap.orange.fr', 'smtp.orange.fr'),
  provider('free.fr', 'imap.free.fr', 'smtp.free.fr', { localUsers: ['imap', 'smtp'] }),
  provider('laposte.net', 'imap.laposte.net', 'smtp.laposte.net', {
    localUsers: ['imap', 'smtp'],
  }),
  provider('comcast.net xfinity.com', 'imap.comcast.net', 'smtp.comcast.net'),
]

/** The servers of a provider with the user of that address. */
export function serversOf(
  { domains, imap, smtp, localUsers, oauth }: KnownProvider,
  email: string,
): { imap: MailServer; smtp: MailServer; oauth: KnownProvider['oauth'] } {
  const at = email.lastIndexOf('@')
  const isOwn = domains.includes(email.slice(at + 1).toLowerCase())
  const user = (kind: 'imap' | 'smtp') => (isOwn && localUsers.includes(kind) ? email.slice(0, at) : email)
  return { imap: { ...imap, user: user('imap') }, smtp: { ...smtp, user: user('smtp') }, oauth }
}

/** The provider whose own addresses end so. */
export function findByDomain(domain: string): KnownProvider | null {
  return PROVIDERS.find(({ domains }) => domains.includes(domain)) ?? null
}

/** The provider that takes mail at that MX host for domains of others. */
export function findByMailHost(host: string): KnownProvider | null {
  const isBelow = (domain: string) => host === domain || host.endsWith(`.${domain}`)
  return PROVIDERS.find(({ mailHosts }) => mailHosts.some(isBelow)) ?? null
}

/** The provider that an IMAP server belongs to. */
export function findByImapHost(host: string): KnownProvider | null {
  return PROVIDERS.find(({ imap }) => imap.host === host) ?? null
}
