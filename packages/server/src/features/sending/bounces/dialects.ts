/*
 * Words by which programs report a failure, with no machine-readable part or beside one. Each dialect is recognised by
 * a sentence that its program writes; `source` names a description or an example of the form.
 */

export interface Dialect {
  name: string
  source: string
  /** The sentence that reports that the message was not delivered. */
  mark: RegExp
}

export const DIALECTS: readonly Dialect[] = [
  {
    name: 'qmail',
    source: 'https://cr.yp.to/proto/qsbmf.txt',
    mark: /^Hi\. This is the\b/im,
  },
  {
    name: 'exim',
    source: 'https://www.exim.org/exim-html-current/doc/html/spec_html/ch-customizing_messages.html',
    mark: /could not be delivered to (?:one or more of its|all of its|the following) recipients?/i,
  },
  {
    name: 'sendmail',
    source: 'savemail.c of sendmail 8',
    mark: /-----\s*The following addresses had permanent fatal errors\s*-----/i,
  },
  {
    name: 'postfix',
    source: 'https://www.postfix.org/bounce.5.html',
    mark: /your message could not\s+be delivered to one or more recipients/i,
  },
  {
    name: 'opensmtpd',
    source: 'smtpd/bounce.c of OpenSMTPD',
    mark: /An error has occurred while attempting to deliver a message for\s+the following/i,
  },
  {
    name: 'gmail',
    source: 'https://support.google.com/mail/answer/6596',
    mark: /Delivery to the following recipients? failed permanently|Your message wasn.t delivered to|Address not found/i,
  },
  {
    name: 'exchange',
    source:
      'https://learn.microsoft.com/exchange/mail-flow/non-delivery-reports-and-bounce-messages/ndr-procedures',
    mark: /did not reach (?:some or all of )?the (?:intended|following) recipient|Delivery has failed to these recipients or groups|couldn.t be delivered|could not be delivered to:/i,
  },
  {
    name: 'lotus',
    source: 'delivery failure report of Domino',
    mark: /was not delivered to:/i,
  },
  {
    name: 'yahoo',
    source: 'failure notice of Yahoo and AOL',
    mark: /unable to deliver your message to the following address/i,
  },
  {
    name: 'courier',
    source: 'https://www.courier-mta.org/courier.html (dsn templates)',
    mark: /this is a delivery status notification|UNDELIVERABLE MAIL/i,
  },
  {
    name: 'mdaemon',
    source: 'delivery failure of MDaemon',
    mark: /had PERMANENT fatal delivery errors|Failed (?:address|recipient)s?\s*:/i,
  },
  {
    name: 'groupwise',
    source: 'mail system error of GroupWise',
    mark: /was undeliverable to the following/i,
  },
  {
    name: 'mail.ru',
    source: 'https://help.mail.ru/mail/faq/nondelivery',
    mark: /не может быть доставлено|не было доставлено|не удалось доставить/i,
  },
  {
    name: 'german',
    source: 'Exchange, GMX, T-Online in German',
    mark: /konnte (?:leider )?nicht (?:an .{1,80} )?(?:zugestellt|übermittelt) werden|nicht zustellbar|Fehler bei der (?:Nachrichten)?zustellung/i,
  },
  {
    name: 'french',
    source: 'Exchange, Orange, Free in French',
    mark: /n.(?:a|ont) pas pu être (?:remis|délivré|distribué|livré)|Échec de la remise|remise .{0,40}a échoué/i,
  },
  {
    name: 'spanish',
    source: 'Exchange, Gmail in Spanish',
    mark: /no se (?:ha podido|pudo|ha) entreg(?:ar|ado)|Error en la entrega/i,
  },
  {
    name: 'italian',
    source: 'Exchange, Libero in Italian',
    mark: /non è stato possibile (?:recapitare|consegnare)|Recapito non riuscito|non è stato (?:recapitato|consegnato)/i,
  },
  {
    name: 'portuguese',
    source: 'Exchange, Gmail in Portuguese',
    mark: /não (?:foi|pôde ser) (?:entregue|possível entregar)|Falha na entrega/i,
  },
  {
    name: 'dutch',
    source: 'Exchange in Dutch',
    mark: /kan niet worden bezorgd|niet (?:worden )?afgeleverd|Bezorging mislukt|kon niet worden bezorgd/i,
  },
  {
    name: 'polish',
    source: 'Exchange, WP in Polish',
    mark: /nie (?:można|udało się) dostarczyć|nie została dostarczona/i,
  },
  {
    name: 'scandinavian',
    source: 'Exchange in Swedish, Danish, Norwegian',
    mark: /kunde inte levereras|kunne ikke leveres|gick inte att leverera/i,
  },
  {
    name: 'czech',
    source: 'Exchange, Seznam in Czech',
    mark: /nelze doručit|nebylo možné doručit|se nepodařilo doručit/i,
  },
  {
    name: 'japanese',
    source: 'Exchange, Gmail in Japanese',
    mark: /配信できませんでした|配信されませんでした|送信できませんでした/,
  },
  {
    name: 'chinese',
    source: 'Exchange, QQ, NetEase in Chinese',
    mark: /无法(?:发送|投递|送达)|退信|未能送达/,
  },
  {
    name: 'other',
    source: 'reports of other programs',
    mark: /(?:delivery|message|mail)\b.{0,60}\b(?:failed|failure|undeliverable|returned|rejected)|(?:could not|cannot|can.t|couldn.t|unable to|was not|wasn.t|not) (?:be )?deliver(?:ed)?|permanent (?:error|failure)|undeliverable/i,
  },
]

/** The server still tries: no failure, despite any other words. */
export const STILL_TRYING =
  /(?:will|wird|sera|será|verrà|zal) (?:be |automatically |weiterhin |keep |continue )?(?:retr|try|attempt|versucht)|THIS IS A WARNING MESSAGE ONLY|do(?: not|n.t) need to resend|(?:has been|is) delayed|delivery (?:is |has been )?delayed|could not be delivered for more than|not yet been delivered|noch nicht zugestellt|wird verzögert|a été retardé|se ha retrasado|è in ritardo|está atrasad/i

/** From here on, the report repeats the message that was sent. Each run of characters can be matched in one way only. */
export const COPY_BEGINS =
  /^[ \t>]*(?:(?:-+[ \t]*)?(?:Below (?:this line )?is a copy|This is a copy of (?:the|your) message|The body of the message is|Original message\b|Message headers? follows?|Unsent message follows|Return-Path:|Received: (?:from|by)|Included is a copy)|-+[ \t]*(?:Transcript of session|Forwarded message|Ursprüngliche Nachricht|Message d.origine|Mensaje original|Messaggio originale))/im
