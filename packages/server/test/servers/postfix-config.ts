import type { LmtpServer } from './mail-server.ts'

export interface PostfixSettings {
  folder: string
  port: number
  tlsPort: number
  /** Whether the folder has server.crt and server.key. */
  hasTls: boolean
  messageBytesMax: number
  /** Where it delivers, and asks about passwords. */
  dovecot: LmtpServer & { saslPort: number }
  beside: readonly LmtpServer[]
}

/** main.cf of Postfix 3.7 (https://www.postfix.org/postconf.5.html). */
export function postfixConfig(settings: PostfixSettings): string {
  const { folder, hasTls, messageBytesMax, dovecot, beside } = settings
  const { domain } = dovecot
  const servers = [dovecot, ...beside]
  const table = (value: (server: LmtpServer) => string, others: string) =>
    `inline:{ ${servers.map(server => `{${server.domain}=${value(server)}}`).join(', ')}, ${others} }`
  return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = ${folder}/postfix.log
maillog_file_prefixes = ${folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = postfix.test
mydestination =
local_recipient_maps =
local_transport = error:5.1.1 no local mail
mynetworks =
alias_maps =
alias_database =
biff = no
append_dot_mydomain = no
disable_dns_lookups = yes
smtp_host_lookup = native
# Nothing leaves the machine.
default_transport = error:5.1.2 outside mail is disabled here
relay_transport = error:5.1.2 outside mail is disabled here
virtual_mailbox_domains = ${table(() => '1', '{bounce.test=1}, {full.test=1}, {defer.test=1}')}
transport_maps = ${table(
    ({ lmtpPort }) => `lmtp:inet:127.0.0.1:${lmtpPort}`,
    '{bounce.test=error:5.1.1 no such user here}, {full.test=error:5.2.2 mailbox full}, {defer.test=retry:4.3.2 try later}',
  )}
delay_warning_time = 2s
virtual_mailbox_maps = static:ok
recipient_delimiter = +
message_size_limit = ${messageBytesMax}
# A user's folder of mail may be large.
virtual_mailbox_limit = 0
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:${dovecot.saslPort}
smtpd_reject_unlisted_recipient = no
smtpd_client_restrictions =
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access inline:{ {nobody@${domain}=550 5.1.1 user unknown}, {greylist@${domain}=450 4.2.0 greylisted, try later} }, permit_auth_destination, reject
smtpd_client_connection_rate_limit = 0
smtpd_client_connection_count_limit = 0
smtpd_error_sleep_time = 0
notify_classes =
# The tests look at what is on its way.
queue_run_delay = 2s
minimal_backoff_time = 2s
maximal_backoff_time = 5s
maximal_queue_lifetime = 60s
bounce_queue_lifetime = 60s
${
  hasTls
    ? `smtpd_tls_cert_file = ${folder}/server.crt
smtpd_tls_key_file = ${folder}/server.key
smtpd_tls_security_level = may`
    : 'smtpd_tls_security_level = none'
}
`
}

/** master.cf: everything without chroot, as the folder holds no files of the system. */
export function postfixServices({ port, tlsPort, hasTls }: PostfixSettings): string {
  return `
127.0.0.1:${port} inet n - n - - smtpd
${hasTls ? `127.0.0.1:${tlsPort} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes` : ''}
postlog unix-dgram n - n - 1 postlogd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
`
}
