import { execFileSync } from 'node:child_process'
import { userInfo } from 'node:os'

export type Flavour = 'full' | 'poor'
export type MailFormat = 'mdbox' | 'maildir'

export interface DovecotSettings {
  flavour: Flavour
  format: MailFormat
  port: number
  tlsPort: number
  lmtpPort: number
  /** Where a mail transport agent asks whether a password is right. */
  saslPort: number
  /** Folder with server.crt and server.key; null for a server without TLS. */
  certificates: string | null
  connectionsPerUserMax: number
}

const isRoot = process.getuid?.() === 0
const ownGroup = execFileSync('id', ['-gn'], { encoding: 'utf8' }).trim()

/** The user and group who own the mail, by name: Dovecot refuses to serve mail as root. */
const mailOwner = isRoot ? { user: 'mail', group: 'mail' } : { user: userInfo().username, group: ownGroup }

/** The configuration of Dovecot 2.3 (https://doc.dovecot.org/2.3/), tuned for tests: nothing is flushed to disk. */
export function dovecotConfig(folder: string, settings: DovecotSettings): string {
  const internalUser = isRoot ? 'dovecot' : userInfo().username
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
instance_name = ${settings.flavour}
log_path = ${folder}/dovecot.log
listen = 127.0.0.1
protocols = imap lmtp
default_internal_user = ${internalUser}
default_login_user = ${isRoot ? 'dovenull' : internalUser}
default_internal_group = ${isRoot ? 'dovecot' : mailOwner.group}
first_valid_uid = 1
first_valid_gid = 1

${tls(settings)}
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
passdb {
  driver = passwd-file
  args = username_format=%u ${folder}/users/%u
}
userdb {
  driver = static
  args = uid=${mailOwner.user} gid=${mailOwner.group} home=${folder}/mail/%u
}

mail_location = ${settings.format}:~/${settings.format}
mail_fsync = never
mailbox_idle_check_interval = 1 secs
mail_plugins = notify
imap_idle_notify_interval = 2 mins
${settings.flavour === 'full' ? fullNamespace : poorNamespace}

service imap-login {
  chroot =
  service_count = 0
  process_min_avail = 1
  client_limit = 2000
  inet_listener imap {
    port = ${settings.port}
  }
  inet_listener imaps {
    port = ${settings.certificates ? settings.tlsPort : 0}
    ssl = yes
  }
}
service imap {
  service_count = 100
  process_limit = 2000
  vsz_limit = 0
}
service anvil {
  chroot =
  client_limit = 5000
  # Without this socket nobody is made to wait after a wrong password.
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service auth {
  client_limit = 5000
  inet_listener {
    address = 127.0.0.1
    port = ${settings.saslPort}
  }
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${settings.lmtpPort}
  }
}
service stats {
  chroot =
  client_limit = 5000
}
protocol imap {
  mail_max_userip_connections = ${settings.connectionsPerUserMax}
  imap_metadata = no
}
`
}

function tls({ certificates }: DovecotSettings) {
  if (!certificates) return 'ssl = no'
  return `ssl = yes\nssl_cert = <${certificates}/server.crt\nssl_key = <${certificates}/server.key`
}

function specialMailbox(name: string) {
  return `  mailbox ${name} {\n    auto = subscribe\n    special_use = \\${name}\n  }\n`
}

const fullNamespace = `namespace inbox {
  inbox = yes
  separator = /
${['Drafts', 'Sent', 'Junk', 'Trash', 'Archive'].map(specialMailbox).join('')}}`

// As Courier names its mailboxes.
const poorNamespace = `login_greeting = ready
imap_capability = IMAP4rev1
namespace inbox {
  inbox = yes
  prefix = INBOX.
  separator = .
}`
