import type { TestUser } from './mail-server.ts'

/** How a Cyrus mails invitations to people elsewhere (RFC 6047). Invitations that come by LMTP enter calendars. */
export interface CyrusMailing {
  /** Where it submits mail, on this machine, and as whom. */
  smtpPort: number
  login: TestUser
}

export interface CyrusSettings {
  folder: string
  programs: string
  port: number
  tlsPort: number
  lmtpPort: number
  hasTls: boolean
  /** The port of CalDAV and CardDAV; null without them. */
  davPort: number | null
  mailing: CyrusMailing | null
}

/** imapd.conf(5): every user has the special mailboxes from the first login on, and messages have EMAILID and THREADID. */
export function imapdConfig({ folder, hasTls, davPort, mailing }: CyrusSettings): string {
  const certificate = hasTls
    ? `tls_server_cert: ${folder}/server.crt\ntls_server_key: ${folder}/server.key`
    : ''
  const special = ['Sent', 'Drafts', 'Trash', 'Junk', 'Archive']
  return `cyrus_user: mail
configdirectory: ${folder}/conf
partition-default: ${folder}/spool
defaultpartition: default
proc_path: ${folder}/run/proc
mboxname_lockpath: ${folder}/run/lock
idlesocket: ${folder}/run/idle
notifysocket: ${folder}/run/notify
admins: admin
servername: cyrus.test
defaultdomain: cyrus.test
virtdomains: off
altnamespace: yes
unixhierarchysep: yes
username_tolower: yes
allowplaintext: yes
${certificate}
sasl_mech_list: PLAIN LOGIN
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: ${folder}/sasldb2
autocreate_quota: 0
autocreate_post: yes
autocreate_inbox_folders: ${special.join(' | ')}
autocreate_subscribe_folders: ${special.join(' | ')}
${special.map(name => `xlist-${name.toLowerCase()}: ${name}`).join('\n')}
specialusealways: yes
conversations: yes
duplicatesuppression: no
expunge_mode: delayed
delete_mode: immediate
syslog_prefix: waxwing-test
munge8bit: no
failedloginpause: 0
tcp_keepalive: no
${davPort === null ? '' : DAV}${mailing === null ? '' : mailingConfig(folder, mailing)}`
}

/** The script of every user, which hands invitations to the calendar. */
export const SIEVE_SCRIPT = 'require "vnd.cyrus.imip";\nprocessimip;\n'
export const SIEVE_FILE = 'invitations.sieve'

const mailingConfig = (folder: string, { smtpPort, login }: CyrusMailing) => `
calendar_user_address_set: cyrus.test
smtp_backend: host
smtp_host: 127.0.0.1:${smtpPort}
smtp_auth_authname: ${login.user}
smtp_auth_password: ${login.password}
sievedir: ${folder}/sieve
sieveusehomedir: no
autocreate_sieve_script: ${folder}/${SIEVE_FILE}
autocreate_sieve_script_compile: yes
`

/** A user has an address book from the first login by IMAP on. */
const DAV = `httpmodules: caldav carddav
httpallowcompress: no
caldav_realm: cyrus
`

/** cyrus.conf(5): IMAP, LMTP, DAV if it is wanted, and what they need, nothing else. */
export function masterConfig(settings: CyrusSettings): string {
  const { folder, programs, port, tlsPort, lmtpPort, hasTls, davPort } = settings
  const imapd = `${programs}/imapd -C ${folder}/imapd.conf -U 100`
  return `START {
  recover cmd="${programs}/ctl_cyrusdb -C ${folder}/imapd.conf -r"
  idled cmd="${programs}/idled -C ${folder}/imapd.conf"
}
SERVICES {
  imap cmd="${imapd}" listen="127.0.0.1:${port}" proto="tcp4" prefork=1
${hasTls ? `  imaps cmd="${imapd} -s" listen="127.0.0.1:${tlsPort}" proto="tcp4" prefork=0` : ''}
${davPort === null ? '' : `  http cmd="${programs}/httpd -C ${folder}/imapd.conf -U 100" listen="127.0.0.1:${davPort}" proto="tcp4" prefork=1`}
  lmtp cmd="${programs}/lmtpd -C ${folder}/imapd.conf -a" listen="127.0.0.1:${lmtpPort}" proto="tcp4" prefork=0
}
EVENTS {
  checkpoint cmd="${programs}/ctl_cyrusdb -C ${folder}/imapd.conf -c" period=30
}
`
}
