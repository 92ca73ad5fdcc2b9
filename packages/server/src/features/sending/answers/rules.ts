import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'

/**
 * Whether a message is worth reading, from its summary alone. A message that is read in vain costs a little; a report
 * that is passed over is lost.
 */

/** Names under which programs report (RFC 2142, RFC 5321 section 4.5.1, and the ends of feedback loops). */
const REPORTING_SENDER =
  /mailer-?daemon|mail-?daemon|postmaster|mail delivery|maildelivery|microsoftexchange|double-?bounce|^bounces?[-+@]|abuse|complaint|feedback|\bfbl\b|\barf\b|^scomp@|^staff@|no-?reply|mail system|mailadmin|<>/i

/** Subjects of reports, in the languages in which servers write. */
const REPORTING_SUBJECT =
  /undeliver|not deliver|deliver(?:y|ed)\b|failure notice|returned (?:mail|to sender)|return to sender|mail system error|message status|nondeliver|delivery status|bounce|(?:mail|message).{0,20}(?:fail|reject|problem)|abuse report|spam report|complaint|feedback report|unzustellbar|nicht zugestellt|zustellung|non remis|non distribu|échec|no entregad|no se puede entregar|entrega|mancat|non recapitabil|recapito|consegna|não (?:é )?entreg|falha|onbestelbaar|niet (?:afgeleverd|bezorgd)|bezorging|niedostarcz|nie dostarcz|ikke (?:levert|leveres)|kan ikke leveres|olevererbart|misslyckad|ei voitu|toimit|nedoruč|kézbesít|недостав|не доставлено|доставк|配信|送信でき|退信|无法投递|系统退信|전송 실패/i

/** Beginnings of their texts, if they keep the subject of the message. */
const REPORTING_SNIPPET =
  /this (?:is|message was) (?:the |an? )?(?:mail system|automatically|email abuse|spam|delivery|created automatically)|could not be delivered|was not delivered|wasn.t delivered|couldn.t be delivered|delivery (?:to|has|of)|abuse report|undeliver|konnte nicht|non è stato possibile|n.a pas pu|no se (?:ha|pudo)|não foi possível/i

/** Whether the message may be a report about another one. */
export function mayBeReport({
  from,
  subject,
  snippet,
}: Pick<MessageSummary, 'from' | 'subject' | 'snippet'>): boolean {
  const sender = from === null ? '<>' : `${from.address || '<>'} ${from.name ?? ''}`
  return (
    REPORTING_SENDER.test(sender) || REPORTING_SUBJECT.test(subject ?? '') || REPORTING_SNIPPET.test(snippet)
  )
}
