export interface Language {
  code: string
  /** Charsets, besides UTF-8, that can encode it. */
  charsets: readonly string[]
  sentences: readonly string[]
  subjects: readonly string[]
  names: readonly string[]
}

export const LANGUAGES: readonly Language[] = [
  {
    code: 'en',
    charsets: ['us-ascii', 'iso-8859-1', 'windows-1252'],
    sentences: [
      'Could you have a look at the figures before Thursday?',
      'The parcel went out this morning and should be with you tomorrow.',
      'I moved the meeting to the small room on the third floor.',
      'Thanks for the quick answer, that settles it for me.',
      'Please find the signed copy attached; the original follows by post.',
    ],
    subjects: [
      'Quarterly figures',
      'Your order has been shipped',
      'Lunch on Friday?',
      'Minutes of the meeting',
    ],
    names: ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', "Niamh O'Brien"],
  },
  {
    code: 'de',
    charsets: ['iso-8859-1', 'windows-1252', 'iso-8859-15', 'utf-7'],
    sentences: [
      'Könnten Sie bitte bis Dienstag die überarbeiteten Unterlagen schicken?',
      'Die Straße ist wegen Bauarbeiten gesperrt, bitte fahrt über die Brücke.',
      'Wir freuen uns auf Ihren Besuch und wünschen eine gute Reise.',
    ],
    subjects: ['Rückfrage zur Rechnung', 'Einladung zum Sommerfest', 'Müllabfuhr verschoben'],
    names: ['Jörg Müller', 'Bärbel Groß', 'Käthe Weiß'],
  },
  {
    code: 'fr',
    charsets: ['iso-8859-1', 'windows-1252'],
    sentences: [
      'Le déjeuner est prévu à midi dans la salle à côté de l’entrée.'.replace('’', "'"),
      'Veuillez trouver ci-joint le procès-verbal signé par les deux parties.',
      'À très bientôt, et merci encore pour votre hospitalité.',
    ],
    subjects: ['Réunion déplacée', 'Facture impayée', 'Élections du comité'],
    names: ['Élodie Lefèvre', 'François Dupré', 'Zoé Benoît'],
  },
  {
    code: 'ru',
    charsets: ['koi8-r', 'windows-1251', 'iso-8859-5'],
    sentences: [
      'Пожалуйста, пришлите договор до конца недели.',
      'Встреча перенесена на четверг, в то же время.',
      'Спасибо за быстрый ответ, всё получилось.',
    ],
    subjects: ['Договор на подпись', 'Приглашение на встречу', 'Отчёт за месяц'],
    names: ['Иван Петров', 'Мария Соколова', 'Алексей Чехов'],
  },
  {
    code: 'el',
    charsets: ['iso-8859-7', 'windows-1253'],
    sentences: ['Η συνάντηση μεταφέρθηκε την Πέμπτη το πρωί.', 'Σας ευχαριστώ πολύ για τη βοήθεια.'],
    subjects: ['Πρόσκληση', 'Ερώτηση για το τιμολόγιο'],
    names: ['Ελένη Παππά', 'Νίκος Γεωργίου'],
  },
  {
    code: 'ja',
    charsets: ['iso-2022-jp', 'shift_jis', 'euc-jp'],
    sentences: [
      '会議の時間が木曜日の午後に変更になりました。',
      '資料を添付しましたので、ご確認ください。',
      'お返事ありがとうございます。',
    ],
    subjects: ['会議のお知らせ', '請求書の件', 'ご案内'],
    names: ['山田太郎', '鈴木花子', '佐藤健'],
  },
  {
    code: 'zh',
    charsets: ['gb2312', 'gbk', 'gb18030'],
    sentences: ['请在星期四之前把文件发给我。', '会议改到三楼的小房间。', '谢谢您的快速回复。'],
    subjects: ['会议通知', '发票问题', '邀请'],
    names: ['王伟', '李娜', '张敏'],
  },
  {
    code: 'zh-tw',
    charsets: ['big5'],
    sentences: ['請在星期四之前把文件寄給我。', '會議改到三樓的小房間。'],
    subjects: ['會議通知', '發票問題'],
    names: ['陳美玲', '林志明'],
  },
  {
    code: 'ko',
    charsets: ['euc-kr', 'ks_c_5601-1987'],
    sentences: ['목요일까지 자료를 보내 주시기 바랍니다.', '회의실이 삼층으로 바뀌었습니다.'],
    subjects: ['회의 안내', '청구서 문의'],
    names: ['김민수', '이서연'],
  },
  {
    code: 'he',
    charsets: ['iso-8859-8', 'windows-1255'],
    sentences: ['הפגישה נדחתה ליום חמישי בבוקר.', 'תודה רבה על התשובה המהירה.'],
    subjects: ['הזמנה לפגישה', 'שאלה על החשבונית'],
    names: ['דוד כהן', 'שרה לוי'],
  },
  {
    code: 'ar',
    charsets: ['windows-1256', 'iso-8859-6'],
    sentences: ['تم تأجيل الاجتماع إلى يوم الخميس صباحا.', 'شكرا جزيلا على الرد السريع.'],
    subjects: ['دعوة إلى اجتماع', 'سؤال عن الفاتورة'],
    names: ['محمد علي', 'فاطمة حسن'],
  },
  {
    code: 'th',
    charsets: ['windows-874', 'tis-620'],
    sentences: ['กรุณาส่งเอกสารก่อนวันพฤหัสบดี', 'ขอบคุณสำหรับคำตอบที่รวดเร็ว'],
    subjects: ['เชิญประชุม', 'สอบถามใบแจ้งหนี้'],
    names: ['สมชาย ใจดี', 'สุดา แก้วมณี'],
  },
  {
    code: 'emoji',
    charsets: [],
    sentences: ['See you there 🎉👩‍💻 and bring cake 🍰!', 'Flags 🇨🇭🇯🇵 and families 👨‍👩‍👧‍👦 count as text too.'],
    subjects: ['🎉 Party on Saturday', 'Re-launch 🚀 tomorrow'],
    names: ['Zoë 🌻', '🐳 Docker Weekly'],
  },
]
