import type { MailServer } from '../provider.ts'

type Server = Omit<MailServer, 'user'>

/** A large provider. The user is always the whole address. */
export interface KnownProvider {
  /** Domains of addresses. */
  domains: readonly string[]
  /** Domains of the MX hosts with which it serves domains of others. */
  mailHosts: readonly string[]
  imap: Server
  smtp: Server
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
    oauth: more.oauth ?? null,
    dav: calendarUrl && contactsUrl ? { calendarUrl, contactsUrl } : null,
  }
}

const OUTLOOK_DOMAINS =
  'outlook.com outlook.de outlook.fr outlook.es outlook.it outlook.at outlook.be outlook.dk outlook.pt outlook.jp ' +
  'outlook.in outlook.com.br outlook.com.au hotmail.com hotmail.co.uk hotmail.de hotmail.fr hotmail.es hotmail.it ' +
  'hotmail.be hotmail.nl hotmail.se live.com live.co.uk live.de live.fr live.it live.nl live.be live.se live.dk ' +
  'live.no live.ca live.com.mx live.com.au msn.com passport.com'

const YAHOO_DOMAINS =
  'yahoo.com yahoo.co.uk yahoo.de yahoo.fr yahoo.es yahoo.it yahoo.ca yahoo.in yahoo.co.in yahoo.com.br yahoo.com.au ' +
  'yahoo.com.mx yahoo.com.ar yahoo.com.sg yahoo.com.ph yahoo.com.tw yahoo.co.id yahoo.ie yahoo.gr yahoo.se yahoo.no ' +
  'yahoo.dk yahoo.ro yahoo.pl ymail.com rocketmail.com'

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
  provider('web.de', 'imap.web.de', starttls('smtp.web.de')),
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
  provider('free.fr', 'imap.free.fr', 'smtp.free.fr'),
  provider('laposte.net', 'imap.laposte.net', 'smtp.laposte.net'),
  provider('comcast.net xfinity.com', 'imap.comcast.net', 'smtp.comcast.net'),
]

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
