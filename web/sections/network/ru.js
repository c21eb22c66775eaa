// The section's words in Russian.

/** @type {Record<string, string>} */
export default {
  networkSeed: "Зерно",
  networkSeedProblem: "Зерно — целое число от 1 до 9999.",
  networkScale: "Величина входов",
  networkNorm: "с LayerNorm",
  networkHint:
    "Каждая полоса показывает, что выдаёт один слой: строка на каждый из 10 примеров батча, столбец на каждое число. Увеличьте входы, уберите LayerNorm и посмотрите, что дойдёт до конца.",
  networkKey: "От −{full} и меньше до {full} и больше; выбранный пример — строка в рамке.",
  networkItem: "Пример",
  networkStrip: "среднее {mean}, стандартное отклонение {deviation}",
  networkStripLabel:
    "Что выдаёт {name} для всего батча: среднее {mean}, стандартное отклонение {deviation}. Выбран пример {item}.",
  networkCaption: "Выбранный пример на пути через сеть",
  networkLayer: "Слой",
  networkDeviation: "Стандартное отклонение",
  networkWithout: "Без LayerNorm",
  networkChart: "128 значений примера {item} до и после LayerNorm: сколько из них какой величины.",
  networkChartX: "значение",
  networkChartY: "Сколько из 128",
  networkBefore: "до LayerNorm",
  networkAfter: "после LayerNorm",
  networkFinding:
    "При входах, умноженных на {scale}, стандартное отклонение десяти выходов этого примера с LayerNorm равно {with}, а без неё — {without}.",
  networkCodeTitle: "То же в коде",
  networkCodeText:
    "Этот слой есть в каждом фреймворке, но начинают они с разных ε. Чтобы получить в другом месте те же числа, передайте то ε, с которым модель обучали. Выбранная вкладка задаёт ε и для сети выше.",
  networkFrameworks: "Фреймворк",
  networkEps: "{name} начинает с ε = {eps}, и теперь так же считает сеть выше.",
};
