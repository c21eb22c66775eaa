// The section's words in Russian.

/** @type {Record<string, string>} */
export default {
  transformersPre: "Pre-LN: нормализация перед каждой ветвью",
  transformersPost: "Post-LN: нормализация после каждой суммы",
  transformersChart:
    "Норма градиента второй матрицы каждого блока до обучения, в трансформере из 12 блоков, медиана по трём зёрнам.",
  transformersBlock: "блок, от входа к выходу",
  transformersGradient: "Норма градиента",
  transformersFinding:
    "До обучения градиент в последнем из 12 блоков равен {pre} с Pre-LN и {post} с Post-LN. Поэтому, пишут Сюн и соавторы, Post-LN нуждается в медленном начале (прогреве). Через 30 шагов без прогрева потери — {preLoss} и {postLoss}; угадывание даёт {chance}. Столь немногие шаги показывают градиенты, а не победителя.",
  transformersHow:
    "Тот же код с сетью поуже: 32 значения на слово вместо 64, одна голова внимания в каждом блоке, 40 шагов Adam со скоростью 0,003 без прогрева. Задача — назвать предыдущее слово.",
  transformersOption: "Блоков",
  transformersNow:
    "При {depth} блоках градиент в последнем блоке до обучения равен {pre} с Pre-LN и {post} с Post-LN. Потери в конце — {preLoss} и {postLoss}.",
};
